// Which pairs are trained on together, and in which order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "filigree/text/parallel_corpus.h"

namespace filigree::text {

struct BatchOptions {
  int64_t batch_tokens = 4096;  ///< target tokens in a batch, with one </s> per sentence
  uint64_t seed = 1;
};

/// Pairs begin … end − 1 come from one corpus and share its weight.
struct CorpusPart {
  int64_t begin, end;
  double weight = 1;
};

/// The batches of one epoch, as numbers of pairs: 4 bytes a pair and 12 a batch.
class Batches {
 public:
  int64_t size() const { return static_cast<int64_t>(order_.size()); }
  std::span<const int32_t> operator[](int64_t i) const {
    const auto batch = static_cast<size_t>(order_[static_cast<size_t>(i)]);
    return std::span(pairs_).subspan(begins_[batch], begins_[batch + 1] - begins_[batch]);
  }

 private:
  friend Batches make_batches(std::span<const PairLength>, std::span<const CorpusPart>,
                              const BatchOptions&, int64_t);
  std::vector<int32_t> pairs_;  // similar ones beside each other
  std::vector<size_t> begins_;  // where in it a batch begins, and the end of the last
  std::vector<int32_t> order_;  // the batches, shuffled
};

/// The batches of an epoch: a pure function of the pairs' lengths and weights, the options and the
/// epoch. So (epoch, number of the batch) is all that a training has to remember of its place.
///
/// Pairs of similar target and source length stand together, so that a batch wastes little on its
/// longest sentence; among similar ones the order is random, and so is the order of batches. A
/// batch has at most `batch_tokens` target tokens, and at most four times as many source tokens; a
/// pair above that is alone. A pair of a part with weight 1 occurs once, with weight 2.5 two or
/// three times, with weight 0.5 in every other epoch on average. Throws UsageError when
/// batch_tokens is below 1.
Batches make_batches(std::span<const PairLength> lengths, std::span<const CorpusPart> parts,
                     const BatchOptions& options, int64_t epoch);

/// The same for one part that holds all pairs, with weight 1.
Batches make_batches(const ParallelCorpus& corpus, const BatchOptions& options, int64_t epoch);

}  // namespace filigree::text
