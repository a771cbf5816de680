#include "filigree/train/average.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

#include "filigree/base/error.h"
#include "filigree/base/files.h"
#include "filigree/model/model_directory.h"
#include "filigree/train/checkpoint.h"
#include "filigree/train/metrics.h"
#include "tests/model/small_config.h"
#include "tests/support/temporary_folder.h"

namespace filigree::train {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const text::Tokenizer& tokenizer(bool other = false) {
  const auto make = [](const std::string& line) {
    text::TokenizerOptions options;
    options.vocab_size = 25;
    return text::train_tokenizer(std::vector<std::string>(20, line), options);
  };
  static const text::Tokenizer first = make("a small model to be written and read");
  static const text::Tokenizer second = make("a mean of small models to try and read");
  return other ? second : first;
}

model::ModelConfig small_config() { return model::small_config(tokenizer().size()); }

/// A model directory all of whose weights are `value`.
fs::path write_model(const fs::path& place, float value,
                     const model::ModelConfig& config = small_config(), bool other = false) {
  fs::create_directories(place);
  const model::Transformer transformer(config);
  transformer.parameters().values().fill_(value);
  model::save_model_files(place, config, {tokenizer(other), tokenizer(other)});
  model::save_parameters(place / model::kWeightsFile, transformer.parameters());
  return place;
}

/// A training whose checkpoint of step 10 i holds weights i, validated with bleu[i - 1].
fs::path write_training(const fs::path& place, const std::vector<double>& bleu) {
  write_model(place, -1);
  MetricsFile metrics(place / kMetricsFile, 0);
  const model::Transformer transformer(small_config());
  for (size_t i = 1; i <= bleu.size(); ++i) {
    transformer.parameters().values().fill_(static_cast<double>(i));
    OptimizerState optimizer;
    optimizer.first_moment = optimizer.second_moment =
        torch::zeros_like(transformer.parameters().values());
    Progress progress;
    progress.step = static_cast<int64_t>(10 * i);
    save_checkpoint(place, {.last = 100}, transformer, optimizer, progress);
    ValidationReport report;
    report.step = progress.step;
    report.loss = static_cast<double>(i);
    report.bleu = bleu[i - 1];
    metrics.write(report, transformer, model::AttentionCounts(small_config()));
  }
  return place;
}

at::Tensor weights(const fs::path& place) {
  return model::load_model(place).transformer.parameters().values();
}

std::vector<std::string> names(const std::vector<fs::path>& places) {
  std::vector<std::string> names;
  for (const fs::path& place : places) names.push_back(place.filename().string());
  return names;
}

template <typename Action>
std::string failure_of(Action action) {
  try {
    action();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::Not(HasSubstr("\n")));
    return e.what();
  }
  return "no error";
}

TEST(Average, IsTheMeanOfEveryWeight) {
  const TemporaryFolder folder;
  std::vector<fs::path> inputs;
  at::Tensor sum;
  for (const uint64_t seed : {1, 2, 3}) {
    inputs.push_back(write_model(folder.path() / std::to_string(seed), 0));
    model::Transformer transformer(small_config());
    transformer.initialise(seed);
    model::save_parameters(inputs.back() / model::kWeightsFile, transformer.parameters());
    const at::Tensor values = transformer.parameters().values().to(torch::kDouble);
    sum = sum.defined() ? sum + values : values;
  }
  average_models(inputs, folder.path() / "mean");
  EXPECT_TRUE(torch::equal(weights(folder.path() / "mean"), (sum / 3).to(torch::kFloat)));
}

TEST(Average, LosesNothingToWeightsThatCancel) {
  const TemporaryFolder folder;
  const float big = 1 << 24;  // The first integer whose successor float32 lacks.
  average_models({write_model(folder.path() / "a", big), write_model(folder.path() / "b", 1),
                  write_model(folder.path() / "c", -big)},
                 folder.path() / "mean");
  EXPECT_EQ(weights(folder.path() / "mean").max().item<float>(), 1.0f / 3);
}

TEST(Average, TakesCheckpointsWithTheFilesOfTheirTraining) {
  const TemporaryFolder folder;
  const fs::path training = write_training(folder.path() / "m", {1, 2, 3});
  write_file(training / "generation_config.json", R"({"beam_size": 7})");
  fs::create_directory(folder.path() / "mean");  // An empty folder is as good as none.
  average_models({training / "step_000000010", (training / "step_000000030").string() + "/"},
                 folder.path() / "mean/");
  EXPECT_EQ(weights(folder.path() / "mean").min().item<float>(), 2);
  EXPECT_EQ(weights(folder.path() / "mean").max().item<float>(), 2);
  EXPECT_THAT(read_file(folder.path() / "mean" / "generation_config.json"),
              HasSubstr("\"beam_size\": 7"));
  EXPECT_EQ(folder.listing().find(".tmp"), std::string::npos) << folder.listing();
}

TEST(Average, TakesTheSmoothedWeightsOfACheckpointThatHasSome) {
  const TemporaryFolder folder;
  const fs::path training = write_training(folder.path() / "m", {1, 2});
  const model::Transformer transformer(small_config());
  OptimizerState optimizer;
  optimizer.first_moment = torch::zeros_like(transformer.parameters().values());
  optimizer.second_moment = optimizer.first_moment;
  optimizer.average = torch::full_like(optimizer.first_moment, 5.0);
  Progress progress;
  progress.step = 20;
  save_checkpoint(training, {.last = 100}, transformer, optimizer, progress);
  average_models(best_checkpoints(training, 1, StoppingMetric::kBleu), folder.path() / "best");
  EXPECT_TRUE((weights(folder.path() / "best") == 5).all().item<bool>());
  // Beside one without, whose weights are 1.
  average_models(newest_checkpoints(training, 2), folder.path() / "both");
  EXPECT_TRUE((weights(folder.path() / "both") == 3).all().item<bool>());
}

TEST(Average, ChoosesTheNewestOrTheBestCheckpoints) {
  const TemporaryFolder folder;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const fs::path training = write_training(folder.path() / "m", {20, 31, 20, nan, 25});
  EXPECT_THAT(names(newest_checkpoints(training, 2)),
              ElementsAre("step_000000050", "step_000000040"));
  EXPECT_THAT(names(best_checkpoints(training, 3, StoppingMetric::kLoss)),
              ElementsAre("step_000000010", "step_000000020", "step_000000030"));
  EXPECT_THAT(failure_of([&] { best_checkpoints(training, 1, StoppingMetric::kBleu); }),
              HasSubstr("metrics.jsonl: the validation of step 40 has no BLEU"));
  fs::remove_all(training / "step_000000040");
  EXPECT_THAT(names(best_checkpoints(training, 3, StoppingMetric::kBleu)),
              ElementsAre("step_000000020", "step_000000050", "step_000000030"));
  EXPECT_THAT(failure_of([&] { newest_checkpoints(training, 9); }),
              HasSubstr("m: has 4 checkpoints, not 9"));
}

TEST(Average, OfUnlikeModelsIsRefusedWithTheFileAndTheDifference) {
  const TemporaryFolder folder;
  const fs::path first = write_model(folder.path() / "first", 1);
  const auto failure_with = [&](const fs::path& other) {
    return failure_of([&] { average_models({first, other}, folder.path() / "mean"); });
  };
  model::ModelConfig wide = small_config();
  wide.d_ff = 16;
  const fs::path other = write_model(folder.path() / "wide", 1, wide);
  EXPECT_THAT(failure_with(other), HasSubstr("wide/config.json: \"d_ff\" is 16, but 12 in "));
  // The weights of one model beside the config of another.
  fs::copy_file(first / model::kConfigFile, other / model::kConfigFile,
                fs::copy_options::overwrite_existing);
  EXPECT_THAT(failure_with(other), AllOf(HasSubstr("wide/model.safetensors: tensor \""),
                                         HasSubstr("feed_forward.inner"), HasSubstr("has shape")));
  EXPECT_THAT(failure_with(write_model(folder.path() / "words", 1, small_config(), true)),
              HasSubstr("words: its vocabulary is not that of "));
  EXPECT_THAT(failure_with(write_model(folder.path() / "nan", NAN)),
              HasSubstr("nan/model.safetensors: has weights that are not finite"));
  EXPECT_THAT(failure_with(folder.path() / "none"), HasSubstr("none: no such model directory"));

  const fs::path damaged = write_training(folder.path() / "m", {1}) / "step_000000010";
  std::string content = read_file(damaged / model::kWeightsFile);
  content.back() = static_cast<char>(content.back() ^ 1);
  write_file(damaged / model::kWeightsFile, content);
  EXPECT_THAT(failure_with(damaged), HasSubstr("step_000000010/model.safetensors: damaged"));
  EXPECT_FALSE(fs::exists(folder.path() / "mean"));
}

TEST(Average, OverwritesNoModel) {
  const TemporaryFolder folder;
  const fs::path first = write_model(folder.path() / "first", 1);
  EXPECT_THAT(failure_of([&] { average_models({first}, first); }), HasSubstr("exists already"));
  EXPECT_EQ(weights(first).min().item<float>(), 1);
}

}  // namespace
}  // namespace filigree::train
