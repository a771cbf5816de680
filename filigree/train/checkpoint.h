// Checkpoints: step_000012000/ in the model directory, with everything that a training needs to go
// on as if it had never stopped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <vector>

#include "filigree/model/transformer.h"
#include "filigree/train/optimizer.h"

namespace filigree::train {

inline constexpr const char* kProgressFile = "trainer.json";

/// Sums over the updates since the last report.
struct Recent {
  double loss = 0;
  int64_t tokens = 0;
  double gradient_norms = 0;
  int64_t steps = 0;
  double seconds = 0;
};

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
  int64_t validated_step = 0;  ///< of the last validation
  int64_t bad_steps = 0;       ///< the last so many updates were skipped as not finite
  int64_t skipped_steps = 0;   ///< in all
  int64_t rollbacks = 0;       ///< returns to an older checkpoint after a divergence
  double rate_factor = 1;      ///< on the learning rate, since then
  uint64_t seed = 0;           ///< fixed when training began
  uint64_t data = 0;           ///< the fingerprint of the batches, on which `batch` depends
  Recent recent;
};

/// Which checkpoints stay when a new one is written.
struct KeepPolicy {
  int64_t last = 2;   ///< the newest ones
  int64_t every = 0;  ///< and those of every so many updates for good; 0: none
};

/// Writes step_NNNNNNNNN/ whole or not at all, then removes those that the policy does not keep.
/// trainer.json holds the hashes of the other files and of itself.
void save_checkpoint(const std::filesystem::path& directory, const KeepPolicy& keep,
                     const model::Transformer& model, const OptimizerState& optimizer,
                     const Progress& progress);

/// Replaces the progress of the checkpoint of the same step.
void update_checkpoint(const std::filesystem::path& directory, const Progress& progress);

/// Reads the newest whole checkpoint of a step below `before` into the model and the optimizer; one
/// that is damaged is skipped with a warning. Nothing when there is no such checkpoint; throws
/// Error when none of them can be read.
std::optional<Progress> load_newest_checkpoint(
    const std::filesystem::path& directory, const model::Transformer& model,
    OptimizerState& optimizer, int64_t before = std::numeric_limits<int64_t>::max());

/// The checkpoints in the directory, newest first.
std::vector<std::filesystem::path> checkpoints(const std::filesystem::path& directory);

/// The step that a checkpoint's name says.
int64_t step_of(const std::filesystem::path& checkpoint);

/// What a checkpoint's trainer.json says. Throws Error when a file of the checkpoint is missing or
/// not what was written.
Progress read_progress(const std::filesystem::path& checkpoint);

/// Reads the weights that a validation at this checkpoint looks at: their average when the training
/// keeps one (--exponential-smoothing), and otherwise the weights themselves. Throws Error as
/// read_progress() does, and when they do not fit.
void load_validated_weights(const std::filesystem::path& checkpoint,
                            const model::Parameters& parameters);

/// Removes the checkpoints of step `first` and later.
void remove_checkpoints_from(const std::filesystem::path& directory, int64_t first);

/// Removes what a process that was killed left half-written or half-removed.
void remove_unfinished_checkpoints(const std::filesystem::path& directory);

/// Whether the directory holds any checkpoint.
bool has_checkpoint(const std::filesystem::path& directory);

}  // namespace filigree::train
