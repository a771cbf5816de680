// Which pairs are trained on together, and in which order.
#pragma once

#include <cstdint>
#include <vector>

#include "filigree/text/corpus.h"

namespace filigree::text {

struct BatchOptions {
  int64_t batch_tokens = 4096;  ///< target tokens in a batch, with one </s> per sentence
  uint64_t seed = 1;
};

/// The batches of one epoch, as indices of pairs: a pure function of the corpus's lengths and
/// weights, the options and the epoch.
///
/// Pairs of similar target and source length stand together, so that a batch wastes little on its
/// longest sentence; among similar ones the order is random, and so is the order of batches. A
/// batch has at most `batch_tokens` target tokens, and at most four times as many source tokens; a
/// pair above that is alone. A pair of a part with weight 1 occurs once, with weight 2.5 two or
/// three times, with weight 0.5 in every other epoch on average. Throws UsageError when
/// batch_tokens is below 1.
std::vector<std::vector<int32_t>> make_batches(const ParallelCorpus& corpus,
                                               const BatchOptions& options, int64_t epoch);

}  // namespace filigree::text
