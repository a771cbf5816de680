// Models with their weights packed, and the threads' decoders: what turns sentences into
// hypotheses.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "filigree/translate/decoder.h"
#include "filigree/translate/packed_model.h"
#include "filigree/translate/search.h"
#include "filigree/translate/sentence_queue.h"

namespace filigree::translate {

/// How sentences share a step, and threads the sentences.
struct BatchOptions {
  int threads = 1;              ///< each with a batch of its own; they share the weights
  int mini_batch = 32;          ///< most sentences in a batch
  int mini_batch_words = 2048;  ///< most source pieces in a batch (a longer sentence is alone)
  /// Called before every step by the thread that takes it; what it throws ends the work.
  std::function<void()> before_step = {};

  /// Throws UsageError naming the first option that is out of range.
  void check() const;
};

/// Whether a search reads StepScores::attention.
bool needs_attention(const SearchOptions& search);

/// One model, or the ensemble of several. Any number of threads may use it at once; they share the
/// weights, and their buffers are kept for those that come later.
class Engine {
 public:
  /// What it needs of the models is copied.
  Engine(const std::vector<const model::Transformer*>& models, Precision precision,
         DecoderOptions options);

  /// Translates sentences of the queue, several at a time, until it is closed and empty. A sentence
  /// that is finished leaves, and the next in the queue takes its place. An empty sentence gives
  /// one empty hypothesis with score 0. On an exception, stops the queue.
  void serve(SentenceQueue& queue, const SearchOptions& search, const BatchOptions& batches) const;
  /// Does all jobs on several threads, the longest sentences first, so that the threads finish
  /// together.
  void run(std::vector<SentenceJob> jobs, const SearchOptions& search,
           const BatchOptions& batches) const;

 private:
  std::unique_ptr<StepFunction> take_decoder() const;

  std::vector<std::unique_ptr<const PackedModel>> models_;
  DecoderOptions options_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<StepFunction>> idle_;
};

}  // namespace filigree::translate
