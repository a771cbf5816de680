// Trainings that start from another model, and parameters that stay as they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "filigree/base/error.h"
#include "filigree/model/model_directory.h"
#include "filigree/train/metrics.h"
#include "filigree/train/trainer.h"
#include "tests/text/captured_log.h"
#include "tests/train/toy.h"

namespace filigree::train {
namespace {

namespace fs = std::filesystem;
using test::CapturedLog;
using test::content_of;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

void set_attention(TrainOptions& options, model::Transform transform) {
  for (const auto block : model::kAttentionBlocks) {
    options.model_config.attention(block).transform = transform;
  }
}

// A trained softmax model in folder/old.
TrainOptions old_training(const TemporaryFolder& folder) {
  TrainOptions options = toy_options(folder);
  options.model = folder / "old";
  options.max_steps = 60;
  options.valid_every = 60;
  options.dropout = 0;
  options.stopping_metric = StoppingMetric::kLoss;
  set_attention(options, model::Transform::kSoftmax);
  return options;
}

// An adaptive one in folder/model that starts from it.
TrainOptions new_training(const TemporaryFolder& folder) {
  TrainOptions options = toy_options(folder);
  options.init_from = folder / "old";
  return options;
}

double first_loss(const fs::path& model) {
  return read_validations(model / kMetricsFile).front().loss;
}

TEST(InitFrom, ATrainingBeginsWhereTheOtherModelStands) {
  const TemporaryFolder folder;
  train(old_training(folder));
  TrainOptions options = new_training(folder);
  options.max_steps = options.valid_every = 1;
  options.learning_rate = 1e-9;
  const CapturedLog log;
  train(options);
  const double old_loss = first_loss(folder / "old"), loss = first_loss(options.model);
  EXPECT_NEAR(loss, old_loss, 0.01 * old_loss);
  EXPECT_THAT(log.text(), AllOf(HasSubstr("the vocabulary is that of"),
                                HasSubstr("softmax becomes adaptive, starting at α 1.01")));
  EXPECT_THAT(log.text(), Not(HasSubstr("training a bpe tokenizer")));
  EXPECT_TRUE(content_of(folder / "model/shared.spm") == content_of(folder / "old/shared.spm"));
}

TEST(InitFrom, ANewVocabularyKeepsThePiecesThatBothHave) {
  const TemporaryFolder folder;
  train(old_training(folder));
  TrainOptions options = new_training(folder);
  options.new_vocabulary = true;
  options.tokenizer.vocab_size = 20;
  options.max_steps = 2;
  const CapturedLog log;
  train(options);
  EXPECT_THAT(log.text(), AllOf(HasSubstr("training a bpe tokenizer of 20 pieces"),
                                HasSubstr("20 of 20 vocabulary pieces")));
}

TEST(InitFrom, OnlyTheBeginningNeedsTheOtherModel) {
  const TemporaryFolder folder;
  train(old_training(folder));
  TrainOptions whole = new_training(folder), parts = whole;
  whole.model = folder / "whole";
  train(whole);
  parts.max_steps = 5;
  train(parts);
  fs::remove_all(folder / "old");
  parts.max_steps = whole.max_steps;
  train(parts);
  EXPECT_TRUE(content_of(folder / "model/step_000000012/model.safetensors") ==
              content_of(folder / "whole/step_000000012/model.safetensors"));
}

TEST(InitFrom, WhatCannotBeTakenIsSaidBeforeAnythingElse) {
  const TemporaryFolder folder;
  TrainOptions options = new_training(folder);
  EXPECT_THROW(train(options), Error);  // There is no such model.
  train(old_training(folder));
  options.model_config.d_model = 32;
  const CapturedLog log;
  try {
    train(options);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("old: d_model is 16 there and 32 here")));
  }
  EXPECT_EQ(log.text(), "");
}

at::Tensor parameter(const fs::path& file, const model::ModelConfig& config,
                     const std::string& name) {
  model::Transformer model(config);
  model::load_parameters(file, model.parameters());
  return model.parameters()[name].detach();
}

TrainOptions frozen_training(const TemporaryFolder& folder, int steps) {
  TrainOptions options = new_training(folder);
  options.freeze = {"encoder.*", "*.alpha_logit", "embedding.weight"};
  options.exponential_smoothing = 0.1;
  options.max_steps = steps;
  options.threads = 2;
  return options;
}

TEST(Freeze, KeepsTheBitsAndTrainsTheRest) {
  const TemporaryFolder folder;
  train(old_training(folder));
  train(frozen_training(folder, 12));
  const model::ModelConfig old = model::load_config(folder / "old"),
                           now = model::load_config(folder / "model");
  for (const std::string& file :
       {std::string("model.safetensors"), std::string("step_000000012/model.safetensors")}) {
    const auto unchanged = [&](const std::string& name) {
      return torch::equal(parameter(folder / ("model/" + file), now, name),
                          parameter(folder / "old/model.safetensors", old, name));
    };
    EXPECT_TRUE(unchanged("encoder.layers.0.self_attention.qkv.weight"));
    EXPECT_TRUE(unchanged("encoder.norm.bias"));
    EXPECT_TRUE(unchanged("embedding.weight"));
    EXPECT_FALSE(unchanged("decoder.layers.0.self_attention.qkv.weight"));
    EXPECT_FALSE(unchanged("decoder.norm.weight"));
  }
  const at::Tensor alpha =
      torch::sigmoid(parameter(folder / "model/step_000000012/model.safetensors", now,
                               "decoder.layers.0.cross_attention.alpha_logit"));
  EXPECT_TRUE(torch::allclose(alpha, torch::full({2}, 0.01), 0, 1e-6));
}

TEST(Freeze, GoesOnToTheBit) {
  const TemporaryFolder folder, parts;
  train(old_training(folder));
  train(old_training(parts));
  train(frozen_training(folder, 12));
  train(frozen_training(parts, 7));
  train(frozen_training(parts, 12));
  for (const char* file :
       {"model/step_000000012/model.safetensors", "model/step_000000012/optimizer.safetensors"}) {
    EXPECT_TRUE(content_of(folder / file) == content_of(parts / file)) << file;
  }
}

// With moments from before, Adam would move parameters that get no gradient any more.
TEST(Freeze, HoldsWhatWasTrainedBefore) {
  const TemporaryFolder folder;
  TrainOptions options = toy_options(folder);
  options.exponential_smoothing = 0.1;
  options.max_steps = 4;
  options.keep_last = 10;
  train(options);
  options.freeze = {"decoder.*"};
  options.max_steps = 8;
  train(options);
  const std::string name = "decoder.layers.0.feed_forward.inner.weight";
  const auto at_step = [&](const std::string& step) {
    return parameter(folder / ("model/step_00000000" + step + "/model.safetensors"),
                     model::load_config(folder / "model"), name);
  };
  EXPECT_TRUE(torch::equal(at_step("4"), at_step("8")));
}

TEST(Freeze, TheSummarySaysHowManyParametersTrain) {
  const TemporaryFolder folder;
  TrainOptions options = toy_options(folder);
  options.freeze = {"encoder.layers.?.*"};
  options.dry_run = true;
  const CapturedLog log;
  train(options);
  EXPECT_THAT(log.text(), testing::ContainsRegex("parameters +[0-9,]+, of which [0-9,]+ train"));
}

TEST(Freeze, PatternsThatFreezeNothingOrAllAreErrors) {
  const TemporaryFolder folder;
  TrainOptions options = toy_options(folder);
  for (const char* pattern : {"encoder", "*"}) {
    options.freeze = {pattern};
    EXPECT_THROW(train(options), UsageError) << pattern;
  }
}

}  // namespace
}  // namespace filigree::train
