// The batches of a training, by number, ready for the model.
#pragma once

#include <cstdint>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include "filigree/text/batches.h"
#include "filigree/text/pair_store.h"
#include "filigree/text/subword_sampler.h"

namespace filigree::text {

/// Draws other segmentations of the text in every epoch, see SubwordSampler.
struct SubwordSampling {
  std::optional<SubwordSampler> source, target;
};

/// Every batch is a pure function of the store, the weights, the options, and its place: the epoch
/// and its number in it, both from 0. Asked for in order, the next one is read in the background.
class BatchStream {
 public:
  /// weights: one per corpus of the store; see make_batches(). With sampling, batches are cut by
  /// the lengths without it, and come out somewhat longer.
  BatchStream(PairStore store, const std::vector<double>& weights, const BatchOptions& options,
              SubwordSampling sampling = {});
  BatchStream(const BatchStream&) = delete;

  const PairStore& store() const { return store_; }
  /// Batches in an epoch.
  int64_t size(int64_t epoch) { return batches_of(epoch).size(); }
  /// The pairs of a batch. Throws Error when the store's file turns out to be damaged.
  ParallelCorpus batch(int64_t epoch, int64_t number);
  /// Of the store, the weights, and how many tokens a batch has: as long as it is the same, a place
  /// means the same batch.
  uint64_t fingerprint() const;

 private:
  const Batches& batches_of(int64_t epoch);
  ParallelCorpus load(int64_t number) const;

  PairStore store_;
  std::vector<CorpusPart> parts_;
  BatchOptions options_;
  SubwordSampling sampling_;
  int64_t epoch_ = -1;
  Batches batches_;  // of epoch_
  int64_t ahead_number_ = -1;
  std::future<ParallelCorpus> ahead_;  // batch ahead_number_ of epoch_; last, as it uses the others
};

}  // namespace filigree::text
