// Checkpoints: step_000012000/ in the model directory, with everything that a training needs to go
// on as if it had never stopped.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "filigree/model/transformer.h"

namespace filigree::train {

/// Where a training stands. Random numbers need no state: each is a function of the seed and the
/// place where it is used.
struct Progress {
  int64_t step = 0;                  ///< updates done
  int64_t epoch = 0;                 ///< whole passes over the training sets
  int64_t batch = 0;                 ///< batches of this epoch done
  int64_t target_tokens = 0;         ///< trained on, in all
  double seconds = 0;                ///< of training, over all runs
  std::optional<double> best_score;  ///< of the stopping metric, higher is better
  int64_t best_step = 0;
  int64_t validations_without_gain = 0;
  uint64_t seed = 0;  ///< fixed when training began
  uint64_t data = 0;  ///< BatchStream::fingerprint(): of what `batch` counts
};

/// What an optimiser carries from step to step; tensors of [parameters], float32.
struct OptimizerState {
  at::Tensor first_moment, second_moment;
  at::Tensor average;  ///< undefined when no average is kept
};

/// Writes step_NNNNNNNNN/ whole or not at all, then removes all but the newest `keep` ones.
void save_checkpoint(const std::filesystem::path& directory, int64_t keep,
                     const model::Transformer& model, const OptimizerState& optimizer,
                     const Progress& progress);

/// Reads the newest whole checkpoint into the model and the optimizer; one that is damaged is
/// skipped with a warning. Nothing when there is no checkpoint; throws Error when none of them can
/// be read.
std::optional<Progress> load_newest_checkpoint(const std::filesystem::path& directory,
                                               const model::Transformer& model,
                                               OptimizerState& optimizer);

/// Whether the directory holds any checkpoint.
bool has_checkpoint(const std::filesystem::path& directory);

}  // namespace filigree::train
