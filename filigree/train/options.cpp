#include "filigree/train/options.h"

#include <cmath>

#include "filigree/base/error.h"
#include "filigree/train/device.h"

namespace filigree::train {
namespace {

void check(bool good, const char* option, const char* rule) {
  if (!good) throw UsageError("--{}: must be {}", option, rule);
}

bool is_share(double value) { return value >= 0 && value < 1; }

void validate_filters(const text::FilterOptions& filters) {
  check(filters.max_length >= 1, "max-length", "at least 1");
  const double ratio = filters.max_length_ratio, share = filters.min_script_share;
  check(ratio == 0 || (std::isfinite(ratio) && ratio >= 1), "max-length-ratio",
        "at least 1, or 0 for any");
  check(share >= 0 && share <= 1, "min-script-share", "between 0 and 1");
  try {
    text::validate(filters);
  } catch (const UsageError& error) {
    throw UsageError("--scripts: {}", error.what());
  }
}

}  // namespace

Schedule parse_schedule(const std::string& name) {
  if (name == "inverse-sqrt") return Schedule::kInverseSqrt;
  if (name == "noam") return Schedule::kNoam;
  if (name == "constant") return Schedule::kConstant;
  throw UsageError("--schedule: \"{}\" is not one of inverse-sqrt, noam, constant", name);
}

StoppingMetric parse_stopping_metric(const std::string& name) {
  if (name == "loss") return StoppingMetric::kLoss;
  if (name == "bleu") return StoppingMetric::kBleu;
  if (name == "chrf") return StoppingMetric::kChrf;
  throw UsageError("--stopping-metric: \"{}\" is not one of loss, bleu, chrf", name);
}

void validate(const TrainOptions& o) {
  const size_t files = o.tsv ? 1 : 2;
  check(!o.model.empty(), "model", "given: the directory to train in");
  check(
      !o.train_sets.empty() && o.train_sets.size() % files == 0, "train-sets",
      o.tsv ? "given: one or more TSV files" : "pairs of files: SOURCE TARGET [SOURCE TARGET ...]");
  check(o.valid_sets.empty() || o.valid_sets.size() == files, "valid-sets",
        o.tsv ? "one TSV file" : "two files: SOURCE TARGET");
  std::error_code ignored;
  check(o.init_from.empty() || !std::filesystem::equivalent(o.init_from, o.model, ignored),
        "init-from", "another directory than --model");
  check(o.corpus_weights.empty() || o.corpus_weights.size() == o.train_sets.size() / files,
        "corpus-weights", "one number per training corpus");
  for (const double weight : o.corpus_weights) check(weight > 0, "corpus-weights", "positive");
  check(o.vocabs.size() <= 2, "vocabs", "one shared SentencePiece model, or two: SOURCE TARGET");
  check(o.sentencepiece_alphas.size() <= 2, "sentencepiece-alphas",
        "one number for both sides, or two: SOURCE TARGET");
  for (const double alpha : o.sentencepiece_alphas) {
    check(std::isfinite(alpha) && alpha >= 0, "sentencepiece-alphas", "0 or more");
  }
  validate_filters(o.filters);
  check(o.learning_rate > 0, "learning-rate", "positive");
  check(o.warmup_steps >= 0, "warmup-steps", "0 or more");
  check(is_share(o.adam_beta1), "adam-beta1", "in [0, 1)");
  check(is_share(o.adam_beta2), "adam-beta2", "in [0, 1)");
  check(o.adam_epsilon > 0, "adam-epsilon", "positive");
  check(o.clip_norm >= 0, "clip-norm", "0 or more");
  check(is_share(o.label_smoothing), "label-smoothing", "in [0, 1)");
  check(is_share(o.dropout), "dropout", "in [0, 1)");
  check(is_share(o.attention_dropout), "attention-dropout", "in [0, 1)");
  check(o.batch_tokens >= 1, "batch-tokens", "at least 1");
  check(o.accumulate >= 1, "accumulate", "at least 1");
  check(is_share(o.exponential_smoothing), "exponential-smoothing", "in [0, 1)");
  check(o.max_steps >= 0, "max-steps", "0 or more");
  check(o.max_epochs >= 0, "max-epochs", "0 or more");
  check(o.patience >= 0, "patience", "0 or more");
  check(o.report_every >= 1, "report-every", "at least 1");
  check(o.valid_every >= 1, "valid-every", "at least 1");
  check(o.save_every >= 0, "save-every", "0 or more");
  check(o.keep_last >= 1, "keep-last", "at least 1");
  check(o.keep_every >= 0, "keep-every", "0 or more");
  check(o.max_bad_steps >= 1, "max-bad-steps", "at least 1");
  check(o.max_rollbacks >= 0, "max-rollbacks", "0 or more");
  check(o.beam_size >= 1, "beam-size", "at least 1");
  check(o.threads >= 0, "threads", "0 or more");
  parse_device(o.device);
  parse_precision(o.precision);
  check(o.translate_valid_set || o.stopping_metric == StoppingMetric::kLoss, "stopping-metric",
        "loss when the validation set is not translated");
  check(
      o.max_steps > 0 || o.max_epochs > 0 || (!o.valid_sets.empty() && o.patience > 0), "max-steps",
      "given, or --max-epochs, or --valid-sets with --patience: the training has no end otherwise");
  text::validate(o.tokenizer);
}

}  // namespace filigree::train
