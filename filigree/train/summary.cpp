#include "filigree/train/summary.h"

#include <fmt/format.h>

#include "filigree/base/progress.h"

namespace filigree::train {
namespace {

std::string format_bytes(int64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / (1 << 20);
  return mebibytes < 1024 ? fmt::format("{:.0f} MiB", mebibytes)
                          : fmt::format("{:.1f} GiB", mebibytes / 1024);
}

}  // namespace

int64_t state_bytes(const Summary& s) {
  const int64_t copies = 1 + s.threads + 2 + (s.averages ? 1 : 0);
  return copies * s.parameters * static_cast<int64_t>(sizeof(float));
}

std::string to_text(const Summary& s) {
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("{:<14}{}\n", name, value);
  };
  line("parameters",
       format_count(s.parameters) + (s.trained == s.parameters
                                         ? ""
                                         : fmt::format(", of which {} train and the rest is frozen",
                                                       format_count(s.trained))));
  line("memory",
       fmt::format("{} for weights, gradients and optimizer; {} in all after a trial update",
                   format_bytes(state_bytes(s)), format_bytes(s.peak_bytes)));
  line("epoch", fmt::format("{} pairs, {} target tokens, {} batches", format_count(s.pairs),
                            format_count(s.tokens_per_epoch), format_count(s.batches_per_epoch)));
  line("vocabulary", fmt::format("{:.3f} % of source and {:.3f} % of target pieces are unknown",
                                 100 * s.data.unknown_source, 100 * s.data.unknown_target));
  const std::string speed =
      fmt::format("{:.2f} s an update with {}{} thread{}", s.seconds_per_step,
                  s.workers == 1 ? "" : fmt::format("{} workers of ", s.workers), s.threads,
                  s.threads == 1 ? "" : "s");
  line("time", s.steps == 0
                   ? speed
                   : fmt::format("{}; about {} for {} updates, without validations", speed,
                                 format_duration(s.seconds_per_step * static_cast<double>(s.steps)),
                                 format_count(s.steps)));
  text.pop_back();
  return text;
}

std::vector<std::string> warnings(const TrainOptions& o, int64_t steps) {
  std::vector<std::string> lines;
  if (steps > 0 && o.warmup_steps >= steps) {
    lines.push_back(fmt::format(
        "--warmup-steps {} is not less than the {} steps of this training: the learning "
        "rate never reaches its peak",
        o.warmup_steps, steps));
  }
  // Noam's rate is a factor on D^−½ · warmup^−½; the others' is the peak itself.
  const bool noam = o.schedule == Schedule::kNoam;
  const double least = noam ? 0.05 : 1e-5, most = noam ? 20 : 0.02;
  if (o.learning_rate < least || o.learning_rate > most) {
    lines.push_back(fmt::format("--learning-rate {} is unusual: most trainings use {} to {}",
                                o.learning_rate, least, most));
  }
  return lines;
}

}  // namespace filigree::train
