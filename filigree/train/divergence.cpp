#include "filigree/train/divergence.h"

#include "filigree/base/error.h"

namespace filigree::train {

Progress roll_back(const TrainOptions& options, const Progress& failed,
                   const model::Transformer& model, OptimizerState& optimizer) {
  const auto give_up = [&](const std::string& why) {
    return Error(
        "step {}: the loss or its gradient was not finite {} times in a row, and {}; try a lower "
        "--learning-rate or a longer --warmup-steps",
        failed.step, failed.bad_steps, why);
  };
  if (failed.rollbacks >= options.max_rollbacks) {
    throw give_up(failed.rollbacks == 0
                      ? std::string("--max-rollbacks is 0")
                      : fmt::format("training has gone back {} times", failed.rollbacks));
  }
  const int64_t last_update = failed.step - failed.bad_steps;
  const auto restored =
      load_newest_checkpoint(options.model, model, optimizer, /*before=*/last_update);
  if (!restored) throw give_up("there is no checkpoint from before it");
  remove_checkpoints_from(options.model, last_update);
  Progress progress = *restored;
  progress.rate_factor = failed.rate_factor / 2;
  progress.rollbacks = failed.rollbacks + 1;
  progress.skipped_steps = failed.skipped_steps;
  // The best weights so far are still in their file.
  progress.best_score = failed.best_score;
  progress.best_step = failed.best_step;
  return progress;
}

}  // namespace filigree::train
