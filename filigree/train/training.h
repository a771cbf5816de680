// A training that is ready to go on: everything that its loop works on.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "filigree/model/model_directory.h"
#include "filigree/model/transformer.h"
#include "filigree/text/batch_stream.h"
#include "filigree/train/checkpoint.h"
#include "filigree/train/corpora.h"
#include "filigree/train/gradient_workers.h"
#include "filigree/train/optimizer.h"
#include "filigree/train/options.h"
#include "filigree/train/worker_group.h"

namespace filigree::train {

struct Training {
  TrainOptions options;  ///< with the vocabulary's numbers in model_config
  WorkerGroup& group;
  at::Device device;
  int threads;  ///< of this worker; 1 on a device other than the CPU
  model::Tokenizers tokenizers;
  std::optional<ValidationSet> valid;
  model::Transformer model;
  std::set<std::string> frozen;  ///< names of parameters that stay as they are
  OptimizerState optimizer = {};
  Progress progress = {};
  std::unique_ptr<text::BatchStream> batches = {};
  std::unique_ptr<GradientWorkers> workers = {};
  int64_t total_steps = 0;  ///< 0 when only the validation set will tell
  int64_t saved_step = -1;  ///< of the newest checkpoint; -1: none

  /// The batches of the next update; `progress` moves on behind them.
  std::vector<text::ParallelCorpus> next_batches();
  /// Their gradient, in `workers`.
  model::LossSums compute(std::span<const text::ParallelCorpus> next);
  /// Epochs done, with the share of the current one.
  double epoch() const;
  /// The weights to validate and to save as the model: their average where one is kept.
  const at::Tensor& values_to_use() const;
  /// Gives all workers the first one's progress, weights and optimizer.
  void share_state();
};

/// Reads or makes the tokenizers, the data, and the model or its newest checkpoint, the same for
/// all workers, and logs a summary of a training that begins. Throws UsageError on options out of
/// range, Error on files that are missing, unfit or cannot be written.
Training set_up(TrainOptions options, WorkerGroup& group);

}  // namespace filigree::train
