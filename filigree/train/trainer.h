// The training loop.
#pragma once

#include <cstdint>
#include <optional>

#include "filigree/train/options.h"
#include "filigree/train/worker_group.h"

namespace filigree::train {

struct TrainResult {
  int64_t steps = 0;
  std::optional<double> best_score;  ///< of the stopping metric; nothing without a validation set
  int64_t best_step = 0;
};

/// Trains until one of the limits, in options.model; goes on by itself when that directory holds a
/// checkpoint of the same architecture. Progress goes to the log and to metrics.jsonl there.
/// On SIGINT and SIGTERM it saves a checkpoint and throws Interrupted. Throws UsageError on options
/// out of range, Error on files that are missing, unfit or cannot be written, and when the loss
/// diverges.
TrainResult train(const TrainOptions& options);

/// The same as one of several workers, which are all given the same options (but for threads): the
/// batches and the course of the training are those of one process with as many threads as all have
/// together, up to rounding. Only the first worker writes; the others need to read the text. A
/// signal to any of them stops all. Throws WorkerLost when another one cannot go on.
TrainResult train(const TrainOptions& options, WorkerGroup& group);

}  // namespace filigree::train
