#include "filigree/train/reports.h"

#include "filigree/base/log.h"
#include "filigree/train/schedule.h"

namespace filigree::train {

Reports::Reports(const Training& training) : training_(training) {
  if (!training.group.is_first()) return;
  open_files();
  bar_.emplace(training.total_steps, training.progress.step);
}

void Reports::open_files() {
  const TrainOptions& options = training_.options;
  const int64_t step = training_.progress.step;
  metrics_.emplace(options.model / kMetricsFile, step);
  if (options.tensorboard) tensorboard_.emplace(options.model, step);
}

void Reports::go_back() {
  if (metrics_) open_files();
}

void Reports::show_progress() {
  if (!bar_) return;
  const int64_t step = training_.progress.step;
  bar_->update(step, fmt::format("step {}  epoch {:.2f}", step, training_.epoch()));
}

void Reports::clear_bar() {
  if (bar_) bar_->clear();
}

void Reports::training_report() {
  const Progress& progress = training_.progress;
  const Recent& recent = progress.recent;
  if (recent.tokens == 0) return;
  const auto steps = static_cast<double>(recent.steps), tokens = static_cast<double>(recent.tokens);
  const TrainingReport r{
      .step = progress.step,
      .epoch = training_.epoch(),
      .loss = recent.loss / tokens,
      .learning_rate = progress.rate_factor * learning_rate(training_.options, progress.step),
      .gradient_norm = recent.gradient_norms / steps,
      .tokens_per_second = tokens / recent.seconds};
  if (metrics_) metrics_->write(r);
  if (tensorboard_) tensorboard_->write(r);
  clear_bar();
  const auto steps_left = static_cast<double>(training_.total_steps - r.step);
  spdlog::info("step {:6}  epoch {:6.2f}  loss {:.4f}  rate {:.3g}  {:.0f} tokens/s{}", r.step,
               r.epoch, r.loss, r.learning_rate, r.tokens_per_second,
               training_.total_steps > 0
                   ? "  " + format_duration(recent.seconds / steps * steps_left) + " left"
                   : "");
}

void Reports::validation_report(const Validation& validation, const model::Transformer& model,
                                bool best) {
  const ValidationReport& r = validation.report;
  if (metrics_) metrics_->write(r, model, validation.attention);
  if (tensorboard_) tensorboard_->write(r, model, validation.attention);
  clear_bar();
  spdlog::info("step {:6}  validation  loss {:.4f}  {} {:.3f}{}  {}", r.step, r.loss,
               model.config().output_alpha == 1 ? "perplexity" : "ε-perplexity", r.perplexity,
               r.bleu ? fmt::format("  BLEU {:.2f}  chrF {:.2f}", *r.bleu, *r.chrf) : "",
               best ? "best so far" : fmt::format("best is step {}", training_.progress.best_step));
}

}  // namespace filigree::train
