#include "filigree/train/trainer.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "filigree/base/blas.h"
#include "filigree/base/error.h"
#include "filigree/base/files.h"
#include "filigree/base/log.h"
#include "filigree/base/memory.h"
#include "filigree/base/progress.h"
#include "filigree/base/random.h"
#include "filigree/base/signals.h"
#include "filigree/base/threads.h"
#include "filigree/train/checkpoint.h"
#include "filigree/train/corpora.h"
#include "filigree/train/data_checks.h"
#include "filigree/train/divergence.h"
#include "filigree/train/gradient_workers.h"
#include "filigree/train/metrics.h"
#include "filigree/train/optimizer.h"
#include "filigree/train/schedule.h"
#include "filigree/train/summary.h"
#include "filigree/train/tensorboard.h"
#include "filigree/train/validation.h"
#include "filigree/translate/generation_config.h"

namespace filigree::train {
namespace {

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
  Trainer(TrainOptions options, WorkerGroup& group);
  TrainResult run();

 private:
  void share_tokenizers(bool resuming);
  text::PairStore open_text(text::CorpusReport& report);
  void prepare_model(bool resuming);
  void share_state();
  void resume();
  void prepare_batches(text::PairStore store, bool resuming);
  void log_summary(const text::CorpusReport& corpora);
  double time_a_step();

  void train_one_update();
  std::vector<text::ParallelCorpus> next_batches();
  model::LossSums compute(std::span<const text::ParallelCorpus> batches);
  void skip_update();
  void open_metrics();
  void report();
  void validate_now();
  void save();
  void clear_bar();
  void leave_if_interrupted();
  void finish();

  bool validation_is_due() const;
  bool save_is_due() const;
  bool limit_reached() const;
  bool out_of_patience() const;
  int64_t planned_steps();
  double epoch();
  double rate() const { return progress_.rate_factor * learning_rate(options_, progress_.step); }
  KeepPolicy keep() const { return {.last = options_.keep_last, .every = options_.keep_every}; }
  const at::Tensor& values_to_use() const {
    return optimizer_.average.defined() ? optimizer_.average : model_->parameters().values();
  }

  TrainOptions options_;
  WorkerGroup& group_;
  int threads_;
  std::optional<model::Tokenizers> tokenizers_;
  std::unique_ptr<text::BatchStream> batches_;
  std::optional<ValidationSet> valid_;
  std::optional<model::Transformer> model_;
  std::optional<GradientWorkers> workers_;
  OptimizerState optimizer_;
  Progress progress_;
  // Of the first worker.
  std::optional<MetricsFile> metrics_;
  std::optional<TensorBoard> tensorboard_;
  std::optional<ProgressBar> bar_;

  int64_t total_steps_ = 0;  ///< 0 when only the validation set will tell
  int64_t saved_step_ = -1;
};

int threads_to_use(const TrainOptions& options) {
  return options.threads > 0 ? options.threads : usable_cores();
}

Trainer::Trainer(TrainOptions options, WorkerGroup& group)
    : options_(std::move(options)), group_(group), threads_(threads_to_use(options_)) {
  validate(options_);
  if (group_.size() > 1) require_files(options_);
  bool resuming = false;
  if (group_.is_first()) {
    make_writable_folder(options_.model);
    remove_abandoned_files(options_.model);
    remove_unfinished_checkpoints(options_.model);
    resuming = has_checkpoint(options_.model);
  }
  group_.broadcast(resuming);
  // Every worker thread is serial inside.
  at::set_num_threads(1);
  set_blas_threads(1);
  share_tokenizers(resuming);
  set_vocabulary(options_.model_config, *tokenizers_);
  text::CorpusReport corpus_report;
  text::PairStore store = open_text(corpus_report);
  spdlog::info("training data\n{}{}", corpus_report.table(), corpus_report.summary());
  valid_ = read_validation_set(options_, *tokenizers_);
  require_agreement(options_, store, valid_ ? valid_->corpus.size() : 0, group_);
  prepare_model(resuming);
  optimizer_ = initial_optimizer_state(options_, model_->parameters().values());
  if (resuming) {
    resume();
  } else {
    share_state();
  }
  prepare_batches(std::move(store), resuming);
  workers_.emplace(*model_, threads_, group_);
  total_steps_ = planned_steps();
  if (!resuming || options_.dry_run) log_summary(corpus_report);
}

void Trainer::share_tokenizers(bool resuming) {
  std::string source, target;
  if (group_.is_first()) {
    tokenizers_.emplace(prepare_tokenizers(options_, resuming));
    source = tokenizers_->source.bytes();
    target = tokenizers_->target.bytes();
  }
  group_.broadcast_text(source);
  group_.broadcast_text(target);
  if (group_.is_first()) return;
  const std::string name = "the vocabulary from worker 0";
  tokenizers_.emplace(model::Tokenizers{text::Tokenizer::from_bytes(std::move(source), name),
                                        text::Tokenizer::from_bytes(std::move(target), name)});
}

// The first worker tokenises where that is to be done; the others find its file, or on machines
// that do not see it make their own.
text::PairStore Trainer::open_text(text::CorpusReport& report) {
  if (!group_.is_first()) group_.barrier();
  text::PairStore store = open_training_sets(options_, *tokenizers_, report);
  if (group_.is_first()) group_.barrier();
  return store;
}

// Only the first worker reads and writes the model directory; what it has goes to the others by
// share_state().
void Trainer::prepare_model(bool resuming) {
  const model::ModelConfig& config = options_.model_config;
  if (resuming && group_.is_first()) {
    const model::ModelConfig stored = model::load_config(options_.model);
    if (model::to_json(stored) != model::to_json(config)) {
      throw Error(
          "{}: holds a training of another architecture; give its options, or another --model",
          options_.model.string());
    }
  }
  model_.emplace(config);
  if (resuming || !group_.is_first()) return;
  progress_.seed = options_.seed;
  model_->initialise(combine(options_.seed, kInitialisation));
  if (options_.dry_run) return;
  keep_older_weights(options_.model);
  model::save_model_files(options_.model, config, *tokenizers_);
  translate::GenerationConfig generation;
  generation.search.beam_size = options_.beam_size;
  generation.search.length_penalty = options_.length_penalty;
  write_file(options_.model / "generation_config.json", translate::to_json(generation));
}

void Trainer::share_state() {
  group_.broadcast(progress_);
  group_.broadcast(model_->parameters().values());
  for (const at::Tensor& state :
       {optimizer_.first_moment, optimizer_.second_moment, optimizer_.average}) {
    if (state.defined()) group_.broadcast(state);
  }
}

void Trainer::resume() {
  if (group_.is_first()) progress_ = *load_newest_checkpoint(options_.model, *model_, optimizer_);
  share_state();
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

void Trainer::log_summary(const text::CorpusReport& corpora) {
  Summary summary;
  summary.seconds_per_step = time_a_step();
  if (!group_.is_first()) return;
  summary.parameters = model_->parameters().count();
  summary.threads = threads_;
  summary.workers = group_.size();
  summary.averages = optimizer_.average.defined();
  double tokens = 0;
  for (size_t i = 0; i < corpora.sources.size(); ++i) {
    const text::SourceReport& corpus = corpora.sources[i];
    tokens += static_cast<double>(corpus.target_tokens + corpus.kept) *
              (options_.corpus_weights.empty() ? 1 : options_.corpus_weights[i]);
  }
  summary.pairs = batches_->store().size();
  summary.tokens_per_epoch = static_cast<int64_t>(tokens);
  summary.batches_per_epoch = batches_->size(progress_.epoch);
  summary.steps = total_steps_;
  summary.data = check_data(batches_->store(), *tokenizers_, model_->config().shared_vocabulary,
                            valid_ ? &*valid_ : nullptr);
  summary.peak_bytes = peak_memory();
  spdlog::info("this training\n{}", to_text(summary));
  for (const std::string& line : warnings(summary.data)) spdlog::warn("{}", line);
  for (const std::string& line : warnings(options_, total_steps_)) spdlog::warn("{}", line);
}

// By a trial whose gradient nobody uses; the first touches memory that the second has ready.
double Trainer::time_a_step() {
  const Progress place = progress_;
  const auto trial = next_batches();
  progress_ = place;
  compute(trial);
  const double started = now_seconds();
  compute(trial);
  return now_seconds() - started;
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

model::LossSums Trainer::compute(std::span<const text::ParallelCorpus> batches) {
  return workers_->compute(
      batches,
      {.dropout = options_.dropout,
       .attention_dropout = options_.attention_dropout,
       .label_smoothing = options_.label_smoothing},
      combine(combine(progress_.seed, kDropout), static_cast<uint64_t>(progress_.step)));
}

void Trainer::train_one_update() {
  const double started = now_seconds();
  const auto batches = next_batches();
  const model::LossSums sums = compute(batches);
  ++progress_.step;
  const double norm = workers_->gradient_norm();
  Recent& recent = progress_.recent;
  const bool good = std::isfinite(norm) && std::isfinite(sums.loss);
  if (good) {
    progress_.bad_steps = 0;
    apply_gradient(options_, progress_.step, progress_.rate_factor, workers_->gradient(), norm,
                   model_->parameters().values(), optimizer_, threads_);
    recent.loss += sums.loss;
    recent.tokens += sums.tokens;
    recent.gradient_norms += norm;
    ++recent.steps;
  }
  if (progress_.batch == batches_->size(progress_.epoch)) {
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
  clear_bar();
  spdlog::warn("step {}: the loss or its gradient is not finite; the step is skipped",
               progress_.step);
  if (progress_.bad_steps < options_.max_bad_steps) return;
  if (group_.is_first()) {
    progress_ = roll_back(options_, progress_, *model_, optimizer_);
    open_metrics();
  }
  share_state();
  saved_step_ = progress_.step;
  spdlog::warn("going back to step {} with the learning rate times {}", progress_.step,
               progress_.rate_factor);
}

void Trainer::open_metrics() {
  metrics_.emplace(options_.model / kMetricsFile, progress_.step);
  if (options_.tensorboard) tensorboard_.emplace(options_.model, progress_.step);
}

void Trainer::report() {
  Recent& recent = progress_.recent;
  if (recent.tokens == 0) return;
  const TrainingReport r{progress_.step,
                         epoch(),
                         recent.loss / static_cast<double>(recent.tokens),
                         rate(),
                         recent.gradient_norms / static_cast<double>(recent.steps),
                         static_cast<double>(recent.tokens) / recent.seconds};
  if (metrics_) metrics_->write(r);
  if (tensorboard_) tensorboard_->write(r);
  clear_bar();
  const double seconds_per_step = recent.seconds / static_cast<double>(recent.steps);
  spdlog::info(
      "step {:6}  epoch {:6.2f}  loss {:.4f}  rate {:.3g}  {:.0f} tokens/s{}", r.step, r.epoch,
      r.loss, r.learning_rate, r.tokens_per_second,
      total_steps_ > 0
          ? "  " + format_duration(seconds_per_step * static_cast<double>(total_steps_ - r.step)) +
                " left"
          : "");
  recent = {};
}

void Trainer::validate_now() {
  clear_bar();
  const model::Transformer model(model_->config(),
                                 model_->parameters().with_values(values_to_use()));
  Validation validation =
      run_validation(model, *valid_, tokenizers_->target, options_, threads_, group_);
  ValidationReport& r = validation.report;
  r.step = progress_.step;
  r.epoch = epoch();
  if (metrics_) metrics_->write(r, model, validation.attention);
  if (tensorboard_) tensorboard_->write(r, model, validation.attention);

  const double score = stopping_score(r, options_.stopping_metric);
  const bool better =
      std::isfinite(score) && (!progress_.best_score || score > *progress_.best_score);
  if (better) {
    if (group_.is_first()) {
      model::save_parameters(options_.model / model::kWeightsFile, model.parameters());
    }
    progress_.best_score = score;
    progress_.best_step = r.step;
    progress_.validations_without_gain = 0;
  } else {
    ++progress_.validations_without_gain;
  }
  progress_.validated_step = progress_.step;
  if (saved_step_ == progress_.step && group_.is_first()) {
    update_checkpoint(options_.model, progress_);
  }
  spdlog::info("step {:6}  validation  loss {:.4f}  {} {:.3f}{}  {}", r.step, r.loss,
               model_->config().output_alpha == 1 ? "perplexity" : "ε-perplexity", r.perplexity,
               r.bleu ? fmt::format("  BLEU {:.2f}  chrF {:.2f}", *r.bleu, *r.chrf) : "",
               better ? "best so far" : fmt::format("best is step {}", progress_.best_step));
}

void Trainer::save() {
  if (saved_step_ == progress_.step) return;
  if (group_.is_first()) {
    save_checkpoint(options_.model, keep(), *model_, optimizer_, progress_);
  }
  saved_step_ = progress_.step;
}

bool Trainer::validation_is_due() const {
  return valid_ && progress_.step > 0 && progress_.validated_step != progress_.step &&
         (progress_.step % options_.valid_every == 0 || limit_reached());
}

// While updates are skipped nothing is gained, and the checkpoints from before must stay.
bool Trainer::save_is_due() const {
  const int64_t every = options_.save_every > 0 ? options_.save_every : options_.valid_every;
  return progress_.bad_steps == 0 && progress_.step % every == 0;
}

void Trainer::clear_bar() {
  if (bar_) bar_->clear();
}

// A signal to any worker is one to all.
void Trainer::leave_if_interrupted() {
  const std::vector<int> signals = group_.gather(SignalGuard::received());
  const int signal = *std::max_element(signals.begin(), signals.end());
  if (signal == 0) return;
  save();
  clear_bar();
  spdlog::info("saved step {}; the same command goes on from here", progress_.step);
  throw Interrupted(signal);
}

// Saving comes before validating, which may take long: a process that is killed meanwhile has lost
// nothing. A training that was stopped between the two validates when it goes on.
TrainResult Trainer::run() {
  if (options_.dry_run) return {progress_.step, progress_.best_score, progress_.best_step};
  const SignalGuard signals;
  if (group_.is_first()) {
    open_metrics();
    bar_.emplace(total_steps_, progress_.step);
  }
  if (validation_is_due()) validate_now();
  leave_if_interrupted();
  while (!limit_reached() && !out_of_patience()) {
    train_one_update();
    if (bar_) {
      bar_->update(progress_.step, fmt::format("step {}  epoch {:.2f}", progress_.step, epoch()));
    }
    if (progress_.step % options_.report_every == 0) report();
    leave_if_interrupted();
    if (save_is_due()) save();
    if (validation_is_due()) {
      validate_now();
      leave_if_interrupted();
    }
  }
  finish();
  return {progress_.step, progress_.best_score, progress_.best_step};
}

void Trainer::finish() {
  save();
  if (!valid_ && group_.is_first()) {
    model::save_parameters(options_.model / model::kWeightsFile, model_->parameters(),
                           values_to_use());
  }
  clear_bar();
  spdlog::info("finished after {} steps, {:.1f} epochs, {}{}", progress_.step, epoch(),
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
  return Trainer(options, group).run();
}

}  // namespace filigree::train
