#include "filigree/train/trainer.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "filigree/base/blas.h"
#include "filigree/base/error.h"
#include "filigree/base/files.h"
#include "filigree/base/log.h"
#include "filigree/base/progress.h"
#include "filigree/base/random.h"
#include "filigree/base/signals.h"
#include "filigree/base/threads.h"
#include "filigree/train/adam.h"
#include "filigree/train/checkpoint.h"
#include "filigree/train/corpora.h"
#include "filigree/train/gradient_workers.h"
#include "filigree/train/metrics.h"
#include "filigree/train/schedule.h"
#include "filigree/train/validation.h"
#include "filigree/translate/generation_config.h"

namespace filigree::train {
namespace {

// Updates in a row with a gradient that is not finite, after which training gives up.
constexpr int kMostBadSteps = 20;
// Streams of random numbers made from the one seed.
enum Stream : uint64_t { kInitialisation, kShuffling, kDropout };

// Weights without a checkpoint to go on from are somebody's model: training anew must not lose
// them.
void keep_older_weights(const std::filesystem::path& directory) {
  const auto weights = directory / model::kWeightsFile;
  std::error_code ignored;
  if (!std::filesystem::exists(weights, ignored)) return;
  auto kept = weights;
  kept += ".old";
  std::filesystem::rename(weights, kept);
  spdlog::warn("{}: has weights but no checkpoint; training begins anew and keeps them as {}",
               directory.string(), kept.filename().string());
}

class Trainer {
 public:
  explicit Trainer(TrainOptions options);
  TrainResult run();

 private:
  void prepare_model(bool resuming);
  void prepare_optimizer();
  void resume();
  void prepare_batches(text::PairStore store, bool resuming);
  void log_summary(const text::CorpusReport& corpora) const;

  void train_one_update();
  std::vector<text::ParallelCorpus> next_batches();
  void apply_gradient(double norm);
  void report();
  void validate_now();
  void save();
  void finish();

  bool limit_reached() const;
  bool out_of_patience() const;
  int64_t planned_steps();
  double epoch();
  int64_t save_every() const {
    return options_.save_every > 0 ? options_.save_every : options_.valid_every;
  }
  const at::Tensor& values_to_use() const {
    return optimizer_.average.defined() ? optimizer_.average : model_->parameters().values();
  }

  TrainOptions options_;
  int threads_;
  std::optional<model::Tokenizers> tokenizers_;
  std::unique_ptr<text::BatchStream> batches_;
  std::optional<ValidationSet> valid_;
  std::optional<model::Transformer> model_;
  std::optional<GradientWorkers> workers_;
  OptimizerState optimizer_;
  Progress progress_;
  std::optional<MetricsFile> metrics_;
  std::optional<ProgressBar> bar_;

  int64_t total_steps_ = 0;  ///< 0 when only the validation set will tell
  int64_t saved_step_ = -1;
  int bad_steps_ = 0;
  // Since the last report.
  model::LossSums recent_;
  double recent_seconds_ = 0;
  double recent_norms_ = 0;
  int64_t recent_steps_ = 0;
};

int threads_to_use(const TrainOptions& options) {
  return options.threads > 0 ? options.threads : usable_cores();
}

Trainer::Trainer(TrainOptions options)
    : options_(std::move(options)), threads_(threads_to_use(options_)) {
  validate(options_);
  make_writable_folder(options_.model);
  remove_abandoned_files(options_.model);
  // Every worker thread is serial inside.
  at::set_num_threads(1);
  set_blas_threads(1);
  const bool resuming = has_checkpoint(options_.model);
  tokenizers_.emplace(prepare_tokenizers(options_, resuming));
  set_vocabulary(options_.model_config, *tokenizers_);
  text::CorpusReport corpus_report;
  text::PairStore store = open_training_sets(options_, *tokenizers_, corpus_report);
  spdlog::info("training data\n{}{}", corpus_report.table(), corpus_report.summary());
  valid_ = read_validation_set(options_, *tokenizers_);
  prepare_model(resuming);
  prepare_optimizer();
  if (resuming) resume();
  prepare_batches(std::move(store), resuming);
  metrics_.emplace(options_.model / "metrics.jsonl", progress_.step);
  workers_.emplace(*model_, threads_);
  total_steps_ = planned_steps();
  log_summary(corpus_report);
}

void Trainer::prepare_model(bool resuming) {
  const model::ModelConfig& config = options_.model_config;
  if (resuming) {
    const model::ModelConfig stored = model::load_config(options_.model);
    if (model::to_json(stored) != model::to_json(config)) {
      throw Error(
          "{}: holds a training of another architecture; give its options, or another --model",
          options_.model.string());
    }
  }
  model_.emplace(config);
  if (resuming) return;
  keep_older_weights(options_.model);
  model_->initialise(combine(options_.seed, kInitialisation));
  model::save_model_files(options_.model, config, *tokenizers_);
  translate::GenerationConfig generation;
  generation.search.beam_size = options_.beam_size;
  generation.search.length_penalty = options_.length_penalty;
  write_file(options_.model / "generation_config.json", translate::to_json(generation));
  progress_.seed = options_.seed;
}

void Trainer::prepare_optimizer() {
  const at::Tensor& values = model_->parameters().values();
  optimizer_.first_moment = torch::zeros_like(values);
  optimizer_.second_moment = torch::zeros_like(values);
  if (options_.exponential_smoothing > 0) optimizer_.average = values.clone();
}

void Trainer::resume() {
  progress_ = *load_newest_checkpoint(options_.model, *model_, optimizer_);
  saved_step_ = progress_.step;
  if (progress_.seed != options_.seed) {
    spdlog::warn("going on with --seed {} that this training began with", progress_.seed);
  }
  spdlog::info("going on from step {}", progress_.step);
}

void Trainer::prepare_batches(text::PairStore store, bool resuming) {
  batches_ = make_batch_stream(options_, *tokenizers_, std::move(store),
                               combine(progress_.seed, kShuffling));
  const uint64_t data = batches_->fingerprint();
  if (resuming && progress_.data != data) {
    spdlog::warn(
        "the training text, its weights or --batch-tokens have changed: this epoch starts again");
    progress_.batch = 0;
  }
  progress_.data = data;
}

void Trainer::log_summary(const text::CorpusReport& corpora) const {
  double tokens = 0;
  for (size_t i = 0; i < corpora.sources.size(); ++i) {
    const text::SourceReport& corpus = corpora.sources[i];
    tokens += static_cast<double>(corpus.target_tokens + corpus.kept) *
              (options_.corpus_weights.empty() ? 1 : options_.corpus_weights[i]);
  }
  spdlog::info("{} parameters, {} target tokens an epoch, {} thread{}",
               format_count(model_->parameters().count()),
               format_count(static_cast<int64_t>(tokens)), threads_, threads_ == 1 ? "" : "s");
  if (total_steps_ > 0 && options_.warmup_steps >= total_steps_) {
    spdlog::warn(
        "--warmup-steps {} is not less than the {} steps of this training: the learning rate "
        "never reaches its peak",
        options_.warmup_steps, total_steps_);
  }
}

double Trainer::epoch() {
  const auto whole = static_cast<double>(progress_.epoch);
  if (progress_.batch == 0) return whole;
  return whole + static_cast<double>(progress_.batch) /
                     static_cast<double>(batches_->size(progress_.epoch));
}

int64_t Trainer::planned_steps() {
  int64_t total = options_.max_steps;
  if (options_.max_epochs > 0) {
    const int64_t per_epoch = batches_->size(progress_.epoch);
    const int64_t steps =
        options_.max_epochs * ((per_epoch + options_.accumulate - 1) / options_.accumulate);
    total = total > 0 ? std::min(total, steps) : steps;
  }
  return total;
}

bool Trainer::limit_reached() const {
  return (options_.max_steps > 0 && progress_.step >= options_.max_steps) ||
         (options_.max_epochs > 0 && progress_.epoch >= options_.max_epochs);
}

bool Trainer::out_of_patience() const {
  return options_.patience > 0 && progress_.validations_without_gain >= options_.patience;
}

std::vector<text::ParallelCorpus> Trainer::next_batches() {
  const int64_t end =
      std::min(progress_.batch + options_.accumulate, batches_->size(progress_.epoch));
  std::vector<text::ParallelCorpus> next;
  for (; progress_.batch < end; ++progress_.batch) {
    next.push_back(batches_->batch(progress_.epoch, progress_.batch));
  }
  return next;
}

void Trainer::train_one_update() {
  const double started = now_seconds();
  const auto batches = next_batches();
  const model::LossSums sums = workers_->compute(
      batches,
      {.dropout = options_.dropout,
       .attention_dropout = options_.attention_dropout,
       .label_smoothing = options_.label_smoothing},
      combine(combine(progress_.seed, kDropout), static_cast<uint64_t>(progress_.step)));
  ++progress_.step;
  const double norm = workers_->gradient_norm();
  if (std::isfinite(norm)) {
    bad_steps_ = 0;
    apply_gradient(norm);
    recent_.loss += sums.loss;
    recent_.tokens += sums.tokens;
    recent_norms_ += norm;
    ++recent_steps_;
  } else if (++bad_steps_ == kMostBadSteps) {
    throw Error(
        "step {}: the gradient was not finite {} times in a row; try a lower --learning-rate "
        "or a longer --warmup-steps",
        progress_.step, kMostBadSteps);
  } else {
    spdlog::warn("step {}: the gradient is not finite; the step is skipped", progress_.step);
  }
  if (progress_.batch == batches_->size(progress_.epoch)) {
    ++progress_.epoch;
    progress_.batch = 0;
  }
  progress_.target_tokens += sums.tokens;
  const double seconds = now_seconds() - started;
  progress_.seconds += seconds;
  recent_seconds_ += seconds;
}

void Trainer::apply_gradient(double norm) {
  AdamStep step{};
  step.learning_rate = learning_rate(options_, progress_.step);
  step.beta1 = options_.adam_beta1;
  step.beta2 = options_.adam_beta2;
  step.epsilon = options_.adam_epsilon;
  step.step = progress_.step;
  step.gradient_scale =
      options_.clip_norm > 0 && norm > options_.clip_norm ? options_.clip_norm / norm : 1;
  // Early on the average follows closely, so that it does not remember the initial weights.
  step.smoothing =
      std::max(options_.exponential_smoothing, 10.0 / (10.0 + static_cast<double>(progress_.step)));
  const auto data = [](const at::Tensor& t) { return t.defined() ? t.data_ptr<float>() : nullptr; };
  const float* const gradient = workers_->gradient().data_ptr<float>();
  float* const values = data(model_->parameters().values());
  float* const average = data(optimizer_.average);
  parallel_ranges(threads_, model_->parameters().count(), [&](int, int64_t begin, int64_t end) {
    adam_update(step, end - begin, gradient + begin, values + begin,
                data(optimizer_.first_moment) + begin, data(optimizer_.second_moment) + begin,
                average ? average + begin : nullptr);
  });
}

void Trainer::report() {
  if (recent_.tokens == 0) return;
  const TrainingReport r{progress_.step,
                         epoch(),
                         recent_.loss / static_cast<double>(recent_.tokens),
                         learning_rate(options_, progress_.step),
                         recent_norms_ / static_cast<double>(recent_steps_),
                         static_cast<double>(recent_.tokens) / recent_seconds_};
  metrics_->write(r);
  bar_->clear();
  const double seconds_per_step = recent_seconds_ / static_cast<double>(recent_steps_);
  spdlog::info(
      "step {:6}  epoch {:6.2f}  loss {:.4f}  rate {:.3g}  {:.0f} tokens/s{}", r.step, r.epoch,
      r.loss, r.learning_rate, r.tokens_per_second,
      total_steps_ > 0
          ? "  " + format_duration(seconds_per_step * static_cast<double>(total_steps_ - r.step)) +
                " left"
          : "");
  recent_ = {};
  recent_seconds_ = recent_norms_ = 0;
  recent_steps_ = 0;
}

void Trainer::validate_now() {
  bar_->clear();
  const model::Transformer model(model_->config(),
                                 model_->parameters().with_values(values_to_use()));
  Validation validation = run_validation(model, *valid_, tokenizers_->target, options_, threads_);
  ValidationReport& r = validation.report;
  r.step = progress_.step;
  r.epoch = epoch();
  metrics_->write(r, model, validation.attention);

  const double score = stopping_score(r, options_.stopping_metric);
  const bool better = !progress_.best_score || score > *progress_.best_score;
  if (better) {
    model::save_parameters(options_.model / model::kWeightsFile, model.parameters());
    progress_.best_score = score;
    progress_.best_step = r.step;
    progress_.validations_without_gain = 0;
  } else {
    ++progress_.validations_without_gain;
  }
  spdlog::info("step {:6}  validation  loss {:.4f}  {} {:.3f}{}  {}", r.step, r.loss,
               model_->config().output_alpha == 1 ? "perplexity" : "ε-perplexity", r.perplexity,
               r.bleu ? fmt::format("  BLEU {:.2f}  chrF {:.2f}", *r.bleu, *r.chrf) : "",
               better ? "best so far" : fmt::format("best is step {}", progress_.best_step));
}

void Trainer::save() {
  if (saved_step_ == progress_.step) return;
  save_checkpoint(options_.model, options_.keep_last, *model_, optimizer_, progress_);
  saved_step_ = progress_.step;
}

TrainResult Trainer::run() {
  const SignalGuard signals;
  bar_.emplace(total_steps_, progress_.step);
  while (!limit_reached() && !out_of_patience()) {
    train_one_update();
    bar_->update(progress_.step, fmt::format("step {}  epoch {:.2f}", progress_.step, epoch()));
    if (progress_.step % options_.report_every == 0) report();
    const bool interrupted = SignalGuard::received() != 0;
    if (valid_ && !interrupted && (progress_.step % options_.valid_every == 0 || limit_reached())) {
      validate_now();
    }
    if (interrupted || SignalGuard::received() != 0) {
      save();
      bar_->clear();
      spdlog::info("saved step {}; the same command goes on from here", progress_.step);
      throw Interrupted(SignalGuard::received());
    }
    if (progress_.step % save_every() == 0) save();
  }
  finish();
  return {progress_.step, progress_.best_score, progress_.best_step};
}

void Trainer::finish() {
  save();
  if (!valid_) {
    model::save_parameters(options_.model / model::kWeightsFile, model_->parameters(),
                           values_to_use());
  }
  bar_->clear();
  spdlog::info("finished after {} steps, {:.1f} epochs, {}{}", progress_.step, epoch(),
               format_duration(progress_.seconds),
               progress_.best_score
                   ? fmt::format("; the best weights are those of step {}", progress_.best_step)
                   : "");
}

}  // namespace

TrainResult train(const TrainOptions& options) { return Trainer(options).run(); }

}  // namespace filigree::train
