#include "filigree/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <torch/torch.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "filigree/base/error.h"
#include "filigree/base/files.h"
#include "filigree/model/model_directory.h"
#include "tests/text/captured_log.h"
#include "tests/train/toy.h"

namespace filigree::train {
namespace {

namespace fs = std::filesystem;
using test::content_of;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The reports of metrics.jsonl without what the clock decides.
std::vector<std::string> curve(const fs::path& model) {
  std::vector<std::string> lines;
  for (const std::string& line : read_lines(model / "metrics.jsonl")) {
    auto json = nlohmann::json::parse(line);
    json.erase("tokens_per_second");
    // A run that stops begins a new mean; the losses themselves must agree.
    if (json["type"] == "validation") lines.push_back(json.dump());
  }
  return lines;
}

TEST(Trainer, InterruptedAndResumedEqualsUninterruptedToTheBit) {
  const TemporaryFolder whole_folder;
  TrainOptions whole = toy_options(whole_folder);
  whole.exponential_smoothing = 0.1;
  whole.accumulate = 2;
  train(whole);
  // In the middle of an epoch, right after a validation, and at an epoch's end.
  for (const int64_t stop : {3, 5, 8}) {
    const TemporaryFolder folder;
    TrainOptions options = toy_options(folder);
    options.exponential_smoothing = 0.1;
    options.accumulate = 2;
    options.max_steps = stop;
    // As an interruption would: no validation at the stop, unless one is due.
    options.valid_sets.clear();
    if (stop % whole.valid_every == 0) options.valid_sets = toy_options(folder).valid_sets;
    train(options);
    options.valid_sets = toy_options(folder).valid_sets;
    options.max_steps = whole.max_steps;
    train(options);
    for (const char* file :
         {"step_000000012/model.safetensors", "step_000000012/optimizer.safetensors"}) {
      // Compared as a truth value: the message of EXPECT_EQ would be the files.
      EXPECT_TRUE(content_of(folder.path() / "model" / file) ==
                  content_of(whole_folder.path() / "model" / file))
          << file << " after a stop at " << stop;
    }
    if (stop >= whole.valid_every) continue;
    EXPECT_EQ(curve(folder / "model"), curve(whole_folder / "model"));
    EXPECT_TRUE(content_of(folder.path() / "model/model.safetensors") ==
                content_of(whole_folder.path() / "model/model.safetensors"));
  }
}

// Two corpora, the second drawn one and a half times, in other pieces every epoch.
TrainOptions weighted_options(const TemporaryFolder& folder) {
  TrainOptions options = toy_options(folder);
  const ToyText more = toy_text(50, 3);
  options.train_sets.push_back(folder.write("more.src", more.source));
  options.train_sets.push_back(folder.write("more.tgt", more.target));
  options.corpus_weights = {1, 1.5};
  options.sentencepiece_alphas = {0.3};
  return options;
}

TEST(Trainer, ResumesToTheBitWithWeightsAndSubwordRegularisation) {
  const TemporaryFolder whole_folder, folder;
  const TrainOptions whole = weighted_options(whole_folder);
  train(whole);
  TrainOptions options = weighted_options(folder);
  options.max_steps = 5;
  train(options);
  fs::remove_all(options.model / "cache");
  options.max_steps = whole.max_steps;
  train(options);
  const char* const weights = "model/step_000000012/model.safetensors";
  EXPECT_TRUE(content_of(folder / weights) == content_of(whole_folder / weights));
}

TEST(Trainer, SubwordRegularisationChangesWhatIsLearned) {
  const TemporaryFolder with, without;
  train(weighted_options(with));
  TrainOptions options = weighted_options(without);
  options.sentencepiece_alphas.clear();
  train(options);
  EXPECT_FALSE(content_of(with / "model/model.safetensors") ==
               content_of(without / "model/model.safetensors"));
}

TEST(Trainer, OtherTrainingTextStartsTheEpochAgain) {
  const TemporaryFolder folder;
  TrainOptions options = toy_options(folder);
  options.max_steps = 3;
  train(options);
  const ToyText less = toy_text(30, 4);
  folder.write("train.src", less.source);
  folder.write("train.tgt", less.target);
  options.max_steps = 6;
  const test::CapturedLog log;
  EXPECT_EQ(train(options).steps, 6);
  EXPECT_THAT(log.text(), HasSubstr("this epoch starts again"));
}

TEST(Trainer, TrainingsShareADataCache) {
  const TemporaryFolder folder;
  TrainOptions options = toy_options(folder);
  options.data_cache = folder / "cache";
  train(options);
  EXPECT_FALSE(fs::exists(options.model / "cache"));
  options.model = folder / "other";
  options.seed = 5;
  const test::CapturedLog log;
  train(options);
  EXPECT_THAT(log.text(), Not(HasSubstr("tokenising")));
}

TEST(Trainer, LearnsTheToyTask) {
  const TemporaryFolder folder;
  TrainOptions options = toy_options(folder);
  options.max_steps = 400;
  options.valid_every = 100;
  options.dropout = 0;
  options.attention_dropout = 0;
  options.stopping_metric = StoppingMetric::kLoss;
  options.threads = 2;
  const TrainResult result = train(options);
  EXPECT_EQ(result.steps, 400);
  // A model that only knows how often letters occur has about 1.8 nats.
  EXPECT_GT(*result.best_score, -0.9);
}

TEST(Trainer, LearnsTheToyTaskByEntmaxLoss) {
  const TemporaryFolder folder;
  TrainOptions options = toy_options(folder);
  options.model_config.output_alpha = 1.5;
  options.max_steps = 400;
  options.valid_every = 100;
  options.dropout = 0;
  options.attention_dropout = 0;
  options.label_smoothing = 0;
  options.stopping_metric = StoppingMetric::kLoss;
  options.threads = 2;
  const TrainResult result = train(options);
  double best = 1e9;
  for (const std::string& line : curve(options.model)) {
    const auto json = nlohmann::json::parse(line);
    EXPECT_FALSE(json.contains("perplexity"));
    // Finite although some gold pieces have a probability of zero.
    EXPECT_LT(json["epsilon_perplexity"].get<double>(), 24);
    best = std::min(best, json["loss"].get<double>());
  }
  EXPECT_NEAR(*result.best_score, -best, 1e-4);
  EXPECT_GT(*result.best_score, -0.7);
  EXPECT_EQ(model::load_model(options.model).transformer.config().output_alpha, 1.5);
  // What it was trained with belongs to it.
  options.model_config.output_alpha = 1;
  EXPECT_THROW(train(options), Error);
}

TEST(Trainer, StopsWhenPatienceIsOut) {
  const TemporaryFolder folder;
  TrainOptions options = toy_options(folder);
  options.max_steps = 0;
  options.learning_rate = 1e-12;
  options.stopping_metric = StoppingMetric::kBleu;
  options.valid_every = 2;
  options.patience = 3;
  const TrainResult result = train(options);
  EXPECT_EQ(result.steps, 8);
  EXPECT_EQ(result.best_step, 2);
}

TEST(Trainer, LeavesAModelThatLoadsWithAllFilesOfTheFormat) {
  const TemporaryFolder folder;
  TrainOptions options = toy_options(folder);
  options.model_config.shared_vocabulary = false;
  options.model_config.cross_attention.transform = model::Transform::kSparsemax;
  train(options);
  const model::Model model = model::load_model(folder / "model");
  EXPECT_FALSE(model.transformer.config().shared_vocabulary);
  for (const char* file :
       {"config.json", "model.safetensors", "source.spm", "target.spm", "generation_config.json",
        "metrics.jsonl", "step_000000012/trainer.json"}) {
    EXPECT_TRUE(fs::exists(folder.path() / "model" / file)) << file;
  }
}

TEST(Trainer, RefusesToGoOnWithAnotherArchitecture) {
  const TemporaryFolder folder;
  TrainOptions options = toy_options(folder);
  train(options);
  options.model_config.d_ff = 64;
  options.max_steps = 20;
  EXPECT_THROW(train(options), Error);
}

TEST(Trainer, WeightsWithoutACheckpointAreKept) {
  const TemporaryFolder folder;
  TrainOptions options = toy_options(folder);
  std::filesystem::create_directories(options.model);
  write_file(options.model / "model.safetensors", "precious");
  train(options);
  EXPECT_EQ(content_of(options.model / "model.safetensors.old"), "precious");
  EXPECT_NO_THROW(model::load_model(options.model));
}

TEST(Trainer, ACorpusSmallerThanABatchIsOneBatch) {
  const TemporaryFolder folder;
  TrainOptions options = toy_options(folder);
  options.train_sets = {folder.write("s", "abc\nfade\n"), folder.write("t", "CBA\nEDAF\n")};
  options.tokenizer.vocab_size = 17;
  options.valid_sets.clear();
  options.max_steps = 3;
  options.batch_tokens = 100'000;
  options.threads = 4;
  EXPECT_EQ(train(options).steps, 3);
  EXPECT_NO_THROW(model::load_model(folder / "model"));
}

// Raises a signal as soon as a certain line is logged, which is between two steps of the loop.
class SignalAt : public spdlog::sinks::base_sink<std::mutex> {
 public:
  SignalAt(std::string text, int signal) : text_(std::move(text)), signal_(signal) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string_view line(message.payload.data(), message.payload.size());
    if (line.find(text_) != std::string_view::npos && !std::exchange(raised_, true)) raise(signal_);
  }
  void flush_() override {}

 private:
  std::string text_;
  int signal_;
  bool raised_ = false;
};

// All reports, without what the clock decides.
std::vector<std::string> reports(const fs::path& model) {
  std::vector<std::string> lines;
  for (const std::string& line : read_lines(model / "metrics.jsonl")) {
    auto json = nlohmann::json::parse(line);
    json.erase("tokens_per_second");
    lines.push_back(json.dump());
  }
  return lines;
}

// `moments` are the log lines at which training is stopped.
void expect_same_bits_after_stops(int64_t report_every, const std::vector<const char*>& moments) {
  const auto options_in = [&](const TemporaryFolder& folder) {
    TrainOptions options = toy_options(folder);
    options.exponential_smoothing = 0.1;
    options.accumulate = 2;
    options.save_every = 4;
    options.report_every = report_every;
    return options;
  };
  const TemporaryFolder whole;
  train(options_in(whole));
  for (const char* moment : moments) {
    SCOPED_TRACE(moment);
    const TemporaryFolder folder;
    const TrainOptions options = options_in(folder);
    auto& sinks = spdlog::default_logger()->sinks();
    sinks.push_back(std::make_shared<SignalAt>(moment, SIGTERM));
    try {
      train(options);
      ADD_FAILURE() << "was not stopped";
    } catch (const Interrupted& interrupted) {
      EXPECT_EQ(interrupted.signal(), SIGTERM);
    }
    sinks.pop_back();
    train(options);
    for (const char* file : {"step_000000012/model.safetensors", "model.safetensors",
                             "step_000000012/optimizer.safetensors"}) {
      EXPECT_TRUE(content_of(folder.path() / "model" / file) ==
                  content_of(whole.path() / "model" / file))
          << file;
    }
    EXPECT_EQ(reports(folder / "model"), reports(whole / "model"));
  }
}

TEST(Trainer, StoppedByASignalAtAnyPointItGoesOnToTheSameBits) {
  // After a step; when a validation is due; right after one; and the same for the last step.
  expect_same_bits_after_stops(
      1, {"step      3  epoch", "step      5  epoch", "step      5  validation",
          "step     12  epoch", "step     12  validation"});
  // In the middle of a report's mean.
  expect_same_bits_after_stops(3, {"step      5  validation", "step     10  validation"});
}

TEST(Trainer, AfterADivergenceItGoesBackAtALowerRate) {
  const TemporaryFolder folder;
  TrainOptions options = toy_options(folder);
  options.max_steps = 5;
  train(options);
  options.max_steps = 12;
  options.learning_rate = 1e30;
  options.warmup_steps = 0;
  options.schedule = Schedule::kConstant;
  options.clip_norm = 0;
  options.max_bad_steps = 2;
  options.max_rollbacks = 200;
  options.valid_sets.clear();
  test::CapturedLog log;
  EXPECT_EQ(train(options).steps, 12);
  EXPECT_THAT(log.text(), AllOf(HasSubstr("going back to step 5 with the learning rate times 0.5"),
                                HasSubstr("the step is skipped")));
  const model::Model model = model::load_model(folder / "model");
  EXPECT_TRUE(torch::isfinite(model.transformer.parameters().values()).all().item<bool>());
}

TEST(Trainer, ADivergenceWithoutACheckpointToGoBackToStops) {
  const TemporaryFolder folder;
  TrainOptions options = toy_options(folder);
  options.learning_rate = 1e30;
  options.warmup_steps = 0;
  options.clip_norm = 0;
  options.max_steps = 200;
  options.valid_sets.clear();
  try {
    train(options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("not finite 20 times in a row"),
                                HasSubstr("no checkpoint"), HasSubstr("--learning-rate")));
  }
}

TEST(Trainer, ADryRunWritesNothingButTheCacheAndTellsWhatItWouldDo) {
  const TemporaryFolder folder;
  TrainOptions options = toy_options(folder);
  fs::create_directories(options.model);
  write_file(options.model / "model.safetensors", "precious");
  options.dry_run = true;
  options.warmup_steps = 100;
  test::CapturedLog log;
  EXPECT_EQ(train(options).steps, 0);
  EXPECT_THAT(log.text(), AllOf(HasSubstr("parameters"), HasSubstr("300 pairs"), HasSubstr("MiB"),
                                HasSubstr("for 12 updates"), HasSubstr("--warmup-steps 100")));
  for (const auto& entry : fs::directory_iterator(options.model)) {
    const std::string name = entry.path().filename();
    EXPECT_TRUE(name == "cache" || name == "model.safetensors") << name;
  }
}

}  // namespace
}  // namespace filigree::train
