#include "filigree/train/trainer.h"

#include <algorithm>
#include <cmath>

#include "filigree/base/error.h"
#include "filigree/base/log.h"
#include "filigree/base/progress.h"
#include "filigree/base/signals.h"
#include "filigree/train/divergence.h"
#include "filigree/train/reports.h"
#include "filigree/train/training.h"
#include "filigree/train/validation.h"

namespace filigree::train {
namespace {

// The loop over updates, with reports, validations and checkpoints when they are due.
class Trainer {
 public:
  explicit Trainer(Training& training)
      : training_(training),
        options_(training.options),
        group_(training.group),
        progress_(training.progress),
        reports_(training) {}
  void run();

 private:
  void train_one_update();
  void skip_update();
  void report();
  void validate_now();
  bool keep_if_best(const Validation& validation, const model::Transformer& model);
  void save();
  void leave_if_interrupted();
  void finish();

  bool validation_is_due() const;
  bool save_is_due() const;
  bool limit_reached() const;
  bool out_of_patience() const;

  Training& training_;
  const TrainOptions& options_;
  WorkerGroup& group_;
  Progress& progress_;
  Reports reports_;
};

bool Trainer::limit_reached() const {
  return (options_.max_steps > 0 && progress_.step >= options_.max_steps) ||
         (options_.max_epochs > 0 && progress_.epoch >= options_.max_epochs);
}

bool Trainer::out_of_patience() const {
  return options_.patience > 0 && progress_.validations_without_gain >= options_.patience;
}

bool Trainer::validation_is_due() const {
  return training_.valid && progress_.step > 0 && progress_.validated_step != progress_.step &&
         (progress_.step % options_.valid_every == 0 || limit_reached());
}

// While updates are skipped nothing is gained, and the checkpoints from before must stay.
bool Trainer::save_is_due() const {
  const int64_t every = options_.save_every > 0 ? options_.save_every : options_.valid_every;
  return progress_.bad_steps == 0 && progress_.step % every == 0;
}

// Saving comes before validating, which may take long: a process that is killed meanwhile has lost
// nothing. A training that was stopped between the two, or in a validation, validates when it goes
// on.
void Trainer::run() {
  const SignalGuard signals;
  if (validation_is_due()) validate_now();
  leave_if_interrupted();
  while (!limit_reached() && !out_of_patience()) {
    train_one_update();
    reports_.show_progress();
    if (progress_.step % options_.report_every == 0) report();
    leave_if_interrupted();
    if (save_is_due()) save();
    if (validation_is_due()) {
      validate_now();
      leave_if_interrupted();
    }
  }
  finish();
}

void Trainer::train_one_update() {
  const double started = now_seconds();
  const auto batches = training_.next_batches();
  const model::LossSums sums = training_.compute(batches);
  ++progress_.step;
  const double norm = training_.workers->gradient_norm();
  Recent& recent = progress_.recent;
  const bool good = std::isfinite(norm) && std::isfinite(sums.loss);
  if (good) {
    progress_.bad_steps = 0;
    apply_gradient(options_, progress_.step, progress_.rate_factor, training_.workers->gradient(),
                   norm, training_.model.parameters().values(), training_.optimizer,
                   training_.threads);
    recent.loss += sums.loss;
    recent.tokens += sums.tokens;
    recent.gradient_norms += norm;
    ++recent.steps;
  }
  if (progress_.batch == training_.batches->size(progress_.epoch)) {
    ++progress_.epoch;
    progress_.batch = 0;
  }
  progress_.target_tokens += sums.tokens;
  const double seconds = now_seconds() - started;
  progress_.seconds += seconds;
  recent.seconds += seconds;
  if (!good) skip_update();
}

void Trainer::skip_update() {
  ++progress_.bad_steps;
  ++progress_.skipped_steps;
  reports_.clear_bar();
  spdlog::warn("step {}: the loss or its gradient is not finite; the step is skipped",
               progress_.step);
  if (progress_.bad_steps < options_.max_bad_steps) return;
  if (group_.is_first()) {
    progress_ = roll_back(options_, progress_, training_.model, training_.optimizer);
    reports_.go_back();
  }
  training_.share_state();
  training_.saved_step = progress_.step;
  spdlog::warn("going back to step {} with the learning rate times {}", progress_.step,
               progress_.rate_factor);
}

void Trainer::report() {
  reports_.training_report();
  progress_.recent = {};
}

void Trainer::validate_now() {
  reports_.clear_bar();
  const at::Tensor values = training_.values_to_use().cpu();
  const model::Transformer model(training_.model.config(),
                                 training_.model.parameters().with_values(values));
  std::optional<Validation> validation = run_validation(
      model, *training_.valid, training_.tokenizers.target, options_, training_.threads, group_);
  if (!validation) return;  // Interrupted: it is repeated when the training goes on.
  validation->report.step = progress_.step;
  validation->report.epoch = training_.epoch();
  const bool best = keep_if_best(*validation, model);
  progress_.validated_step = progress_.step;
  if (training_.saved_step == progress_.step && group_.is_first()) {
    update_checkpoint(options_.model, progress_);
  }
  reports_.validation_report(*validation, model, best);
}

bool Trainer::keep_if_best(const Validation& validation, const model::Transformer& model) {
  const double score = stopping_score(validation.report, options_.stopping_metric);
  const bool best =
      std::isfinite(score) && (!progress_.best_score || score > *progress_.best_score);
  if (!best) {
    ++progress_.validations_without_gain;
    return false;
  }
  if (group_.is_first()) {
    model::save_parameters(options_.model / model::kWeightsFile, model.parameters());
  }
  progress_.best_score = score;
  progress_.best_step = progress_.step;
  progress_.validations_without_gain = 0;
  return true;
}

void Trainer::save() {
  if (training_.saved_step == progress_.step) return;
  if (group_.is_first()) {
    save_checkpoint(options_.model, {.last = options_.keep_last, .every = options_.keep_every},
                    training_.model, training_.optimizer, progress_);
  }
  training_.saved_step = progress_.step;
}

// A signal to any worker is one to all.
void Trainer::leave_if_interrupted() {
  const std::vector<int> signals = group_.gather(SignalGuard::received());
  const int signal = *std::max_element(signals.begin(), signals.end());
  if (signal == 0) return;
  save();
  reports_.clear_bar();
  spdlog::info("saved step {}; the same command goes on from here", progress_.step);
  throw Interrupted(signal);
}

void Trainer::finish() {
  save();
  if (!training_.valid && group_.is_first()) {
    model::save_parameters(options_.model / model::kWeightsFile, training_.model.parameters(),
                           training_.values_to_use());
  }
  reports_.clear_bar();
  spdlog::info("finished after {} steps, {:.1f} epochs, {}{}", progress_.step, training_.epoch(),
               format_duration(progress_.seconds),
               progress_.best_score
                   ? fmt::format("; the best weights are those of step {}", progress_.best_step)
                   : "");
  if (progress_.skipped_steps > 0) {
    spdlog::warn("{} steps were skipped because their loss or gradient was not finite",
                 progress_.skipped_steps);
  }
}

}  // namespace

TrainResult train(const TrainOptions& options) {
  WorkerGroup alone;
  return train(options, alone);
}

TrainResult train(const TrainOptions& options, WorkerGroup& group) {
  Training training = set_up(options, group);
  if (!options.dry_run) Trainer(training).run();
  const Progress& progress = training.progress;
  return {progress.step, progress.best_score, progress.best_step};
}

}  // namespace filigree::train
