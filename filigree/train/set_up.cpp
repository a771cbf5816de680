#include <torch/torch.h>

#include <algorithm>

#include "filigree/base/blas.h"
#include "filigree/base/error.h"
#include "filigree/base/files.h"
#include "filigree/base/log.h"
#include "filigree/base/memory.h"
#include "filigree/base/progress.h"
#include "filigree/base/random.h"
#include "filigree/base/threads.h"
#include "filigree/train/data_checks.h"
#include "filigree/train/device.h"
#include "filigree/train/init_from.h"
#include "filigree/train/random_streams.h"
#include "filigree/train/summary.h"
#include "filigree/train/training.h"
#include "filigree/translate/generation_config.h"

namespace filigree::train {
namespace {

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

// Returns whether there is a training to go on with.
bool prepare_directory(const std::filesystem::path& directory, WorkerGroup& group) {
  bool resuming = false;
  if (group.is_first()) {
    make_writable_folder(directory);
    remove_abandoned_files(directory);
    remove_unfinished_checkpoints(directory);
    resuming = has_checkpoint(directory);
  }
  group.broadcast(resuming);
  return resuming;
}

model::Tokenizers share_tokenizers(const TrainOptions& options, bool resuming, WorkerGroup& group) {
  std::optional<model::Tokenizers> tokenizers;
  std::string source, target;
  if (group.is_first()) {
    tokenizers = prepare_tokenizers(options, resuming);
    source = tokenizers->source.bytes();
    target = tokenizers->target.bytes();
  }
  group.broadcast_text(source);
  group.broadcast_text(target);
  if (tokenizers) return *tokenizers;
  const std::string name = "the vocabulary from worker 0";
  return {text::Tokenizer::from_bytes(std::move(source), name),
          text::Tokenizer::from_bytes(std::move(target), name)};
}

// The first worker tokenises where that is to be done; the others find its file, or on machines
// that do not see it make their own.
text::PairStore open_text(const TrainOptions& options, const model::Tokenizers& tokenizers,
                          WorkerGroup& group, text::CorpusReport& report) {
  if (!group.is_first()) group.barrier();
  text::PairStore store = open_training_sets(options, tokenizers, report);
  if (group.is_first()) group.barrier();
  spdlog::info("training data\n{}{}", report.table(), report.summary());
  return store;
}

void require_same_architecture(const TrainOptions& options) {
  const model::ModelConfig stored = model::load_config(options.model);
  if (model::to_json(stored) == model::to_json(options.model_config)) return;
  throw Error("{}: holds a training of another architecture; give its options, or another --model",
              options.model.string());
}

// Everything of the model directory but the weights.
void write_model_files(const Training& training) {
  const TrainOptions& options = training.options;
  keep_older_weights(options.model);
  model::save_model_files(options.model, options.model_config, training.tokenizers);
  translate::GenerationConfig generation;
  generation.search.beam_size = options.beam_size;
  generation.search.length_penalty = options.length_penalty;
  write_file(options.model / "generation_config.json", translate::to_json(generation));
}

// What follows works where the weights are.
void move_to_device(Training& training) {
  training.model = training.model.to(training.device);
  const model::Parameters& parameters = training.model.parameters();
  training.optimizer = initial_optimizer_state(training.options, parameters.values(),
                                               trained_ranges(parameters, training.frozen));
}

void begin(Training& training) {
  if (training.group.is_first()) {
    training.progress.seed = training.options.seed;
    training.model.initialise(combine(training.options.seed, kInitialisation));
    if (!training.options.init_from.empty()) {
      start_from_other(training.options.init_from, training.tokenizers, training.model);
    }
    if (!training.options.dry_run) write_model_files(training);
  }
  move_to_device(training);
  training.share_state();
}

void resume(Training& training) {
  const TrainOptions& options = training.options;
  move_to_device(training);
  if (training.group.is_first()) {
    training.progress = *load_newest_checkpoint(options.model, training.model, training.optimizer);
  }
  training.share_state();
  training.saved_step = training.progress.step;
  if (training.progress.seed != options.seed) {
    spdlog::warn("going on with --seed {} that this training began with", training.progress.seed);
  }
  spdlog::info("going on from step {}", training.progress.step);
}

void prepare_batches(Training& training, text::PairStore store, bool resuming) {
  Progress& progress = training.progress;
  training.batches = make_batch_stream(training.options, training.tokenizers, std::move(store),
                                       combine(progress.seed, kShuffling));
  const uint64_t data = training.batches->fingerprint();
  if (resuming && progress.data != data) {
    spdlog::warn(
        "the training text, its weights or --batch-tokens have changed: this epoch starts again");
    progress.batch = 0;
  }
  progress.data = data;
}

int64_t planned_steps(const Training& training) {
  const TrainOptions& options = training.options;
  int64_t total = options.max_steps;
  if (options.max_epochs > 0) {
    const int64_t per_epoch = training.batches->size(training.progress.epoch);
    const int64_t steps =
        options.max_epochs * ((per_epoch + options.accumulate - 1) / options.accumulate);
    total = total > 0 ? std::min(total, steps) : steps;
  }
  return total;
}

// By a trial whose gradient nobody uses; the first touches memory that the second has ready.
double time_a_step(Training& training) {
  const Progress place = training.progress;
  const auto trial = training.next_batches();
  training.progress = place;
  training.compute(trial);
  const double started = now_seconds();
  training.compute(trial);
  return now_seconds() - started;
}

int64_t tokens_per_epoch(const text::CorpusReport& corpora, const std::vector<double>& weights) {
  double tokens = 0;
  for (size_t i = 0; i < corpora.sources.size(); ++i) {
    const text::SourceReport& corpus = corpora.sources[i];
    tokens += static_cast<double>(corpus.target_tokens + corpus.kept) *
              (weights.empty() ? 1 : weights[i]);
  }
  return static_cast<int64_t>(tokens);
}

void log_summary(Training& training, const text::CorpusReport& corpora) {
  Summary summary;
  summary.seconds_per_step = time_a_step(training);
  if (!training.group.is_first()) return;
  summary.parameters = training.model.parameters().count();
  summary.trained = total_size(training.optimizer.trained);
  summary.threads = training.threads;
  summary.workers = training.group.size();
  summary.averages = training.optimizer.average.defined();
  const text::PairStore& store = training.batches->store();
  summary.pairs = store.size();
  summary.tokens_per_epoch = tokens_per_epoch(corpora, training.options.corpus_weights);
  summary.batches_per_epoch = training.batches->size(training.progress.epoch);
  summary.steps = training.total_steps;
  summary.data =
      check_data(store, training.tokenizers, training.options.model_config.shared_vocabulary,
                 training.valid ? &*training.valid : nullptr);
  summary.peak_bytes = peak_memory();
  spdlog::info("this training\n{}", to_text(summary));
  const std::string note = precision_note(parse_device(training.options.device),
                                          parse_precision(training.options.precision));
  if (!note.empty()) spdlog::info("{}", note);
  for (const std::string& line : warnings(summary.data)) spdlog::warn("{}", line);
  for (const std::string& line : warnings(training.options, summary.steps)) {
    spdlog::warn("{}", line);
  }
}

}  // namespace

// Only the first worker reads and writes the model directory; what it has goes to the others.
Training set_up(TrainOptions options, WorkerGroup& group) {
  validate(options);
  if (group.size() > 1) require_files(options);
  const at::Device device = require_device(options.device, group.rank() % group.local_size(),
                                           parse_precision(options.precision));
  const bool resuming = prepare_directory(options.model, group);
  const int threads = options.threads > 0 ? options.threads : usable_cores();
  // Every worker thread is serial inside.
  at::set_num_threads(1);
  set_blas_threads(1);
  if (!resuming && !options.init_from.empty()) require_fit(options.init_from, options);
  model::Tokenizers tokenizers = share_tokenizers(options, resuming, group);
  set_vocabulary(options.model_config, tokenizers);
  model::Transformer model(options.model_config);
  std::set<std::string> frozen = frozen_parameters(model.parameters(), options.freeze);
  text::CorpusReport corpora;
  text::PairStore store = open_text(options, tokenizers, group, corpora);
  std::optional<ValidationSet> valid = read_validation_set(options, tokenizers);
  require_agreement(options, store, valid ? valid->corpus.size() : 0, group);
  if (resuming && group.is_first()) require_same_architecture(options);

  Training training{.options = std::move(options),
                    .group = group,
                    .device = device,
                    .threads = device.is_cpu() ? threads : 1,
                    .tokenizers = std::move(tokenizers),
                    .valid = std::move(valid),
                    .model = std::move(model),
                    .frozen = std::move(frozen)};
  resuming ? resume(training) : begin(training);
  prepare_batches(training, std::move(store), resuming);
  training.workers =
      std::make_unique<GradientWorkers>(training.model, training.threads, group, training.frozen);
  training.total_steps = planned_steps(training);
  if (!resuming || training.options.dry_run) log_summary(training, corpora);
  return training;
}

}  // namespace filigree::train
