#include "filigree/model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "filigree/base/error.h"

namespace filigree::model {
namespace {

using testing::HasSubstr;

ModelConfig some_config() {
  ModelConfig config;
  apply_preset(config, "small");
  config.source_vocabulary = config.target_vocabulary = 50;
  config.cross_attention = {Transform::kEntmax, 1.25, 1, 2};
  config.decoder_attention.transform = Transform::kSoftmax;
  config.encoder_attention.alpha_max = 2.5;
  return config;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string failure_of(const std::string& json) {
  try {
    model_config_from_json(json, "dir/config.json");
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::StartsWith("dir/config.json: "));
    return e.what();
  }
  return "no error";
}

TEST(ModelConfig, JsonKeepsEveryField) {
  const ModelConfig config = some_config();
  const ModelConfig read = model_config_from_json(to_json(config), "config.json");
  EXPECT_EQ(to_json(read), to_json(config));
  EXPECT_EQ(read.d_ff, 1024);
  EXPECT_EQ(read.cross_attention.fixed_alpha(), 1.25);
  EXPECT_EQ(read.encoder_attention.alpha_max, 2.5);
}

TEST(ModelConfig, TheOutputIsSoftmaxUnlessItSaysOtherwise) {
  ModelConfig config = some_config();
  const std::string softmax = to_json(config);
  EXPECT_EQ(model_config_from_json(softmax, "config.json").output_alpha, 1);
  const auto begin = softmax.find("  \"output\""), end = softmax.find("  \"pre_norm\"");
  const std::string absent = softmax.substr(0, begin) + softmax.substr(end);
  EXPECT_EQ(model_config_from_json(absent, "config.json").output_alpha, 1);

  config.output_alpha = 1.75;
  const std::string sparse = to_json(config);
  EXPECT_EQ(model_config_from_json(sparse, "config.json").output_alpha, 1.75);
  const auto with = [&](const std::string& output) {
    return absent.substr(0, begin) + "  \"output\": " + output + ",\n" + absent.substr(begin);
  };
  EXPECT_EQ(model_config_from_json(with(R"({"transform": "sparsemax"})"), "c").output_alpha, 2);
  EXPECT_THAT(failure_of(with(R"({"transform": "adaptive", "alpha_min": 1, "alpha_max": 2})")),
              HasSubstr("output: \"adaptive\" is for attention"));
  EXPECT_THAT(failure_of(with(R"({"transform": "entmax", "alpha": 0.5})")),
              HasSubstr("alpha must be between 1 and 1000"));
}

TEST(ModelConfig, HeadsThatPruningHasLeftAreThereWhereSomeAreGone) {
  ModelConfig config = some_config();
  const std::string whole = to_json(config);
  EXPECT_THAT(whole, Not(HasSubstr("_heads\"")));
  EXPECT_EQ(config.total_heads(),
            (config.encoder_layers + 2 * config.decoder_layers) * config.heads);
  auto& left = config.heads_left[static_cast<size_t>(AttentionBlock::kCross)];
  left.assign(static_cast<size_t>(config.decoder_layers), config.heads);
  left[1] = 1;
  const std::string text = to_json(config);
  const ModelConfig read = model_config_from_json(text, "config.json");
  EXPECT_EQ(read.heads_left, config.heads_left);
  EXPECT_EQ(read.heads_of(AttentionBlock::kCross, 1), 1);
  EXPECT_EQ(read.heads_of(AttentionBlock::kEncoder, 1), config.heads);
  EXPECT_EQ(to_json(read), text);

  left[1] = config.heads + 1;
  EXPECT_THAT(failure_of(to_json(config)), HasSubstr("cross_heads must be between 1 and heads"));
  left[1] = 0;
  EXPECT_THAT(failure_of(to_json(config)), HasSubstr("cross_heads must be between 1 and heads"));
  left = {1};
  EXPECT_THAT(failure_of(to_json(config)), HasSubstr("cross_heads must be one number for each"));
  const std::string wrong = whole.substr(0, whole.rfind('}'));
  for (const char* value : {"3", "[]", "[1.5]", "[\"2\"]"}) {
    EXPECT_THAT(failure_of(wrong + ", \"decoder_heads\": " + value + "}"),
                HasSubstr("config.json: decoder_heads: expected a list of whole numbers"));
  }
}

TEST(ModelConfig, PresetsAreThoseOfTheManual) {
  ModelConfig config;
  apply_preset(config, "tiny");
  EXPECT_EQ(std::tuple(config.encoder_layers, config.decoder_layers, config.d_model, config.d_ff,
                       config.heads),
            std::tuple(4, 4, 128, 256, 4));
  apply_preset(config, "small");
  EXPECT_EQ(std::tuple(config.encoder_layers, config.decoder_layers, config.d_model, config.d_ff,
                       config.heads),
            std::tuple(3, 3, 256, 1024, 4));
  apply_preset(config, "base");
  EXPECT_EQ(std::tuple(config.encoder_layers, config.decoder_layers, config.d_model, config.d_ff,
                       config.heads),
            std::tuple(6, 6, 512, 2048, 8));
  apply_preset(config, "big");
  EXPECT_EQ(std::tuple(config.encoder_layers, config.decoder_layers, config.d_model, config.d_ff,
                       config.heads),
            std::tuple(6, 6, 1024, 4096, 16));
  EXPECT_THROW(apply_preset(config, "huge"), UsageError);
}

TEST(ModelConfig, WrongJsonIsAnErrorThatNamesTheKey) {
  const std::string good = to_json(some_config());
  EXPECT_THAT(failure_of("{"), HasSubstr("not JSON"));
  EXPECT_THAT(failure_of("[]"), HasSubstr("expected a JSON object"));
  EXPECT_THAT(failure_of(replaced(good, "\"d_ff\"", "\"dff\"")), HasSubstr("\"d_ff\" is missing"));
  EXPECT_THAT(failure_of(replaced(good, "\"d_ff\"", "\"new\": 1, \"d_ff\"")),
              HasSubstr("unknown key \"new\""));
  EXPECT_THAT(failure_of(replaced(good, "1024", "\"many\"")),
              HasSubstr("\"d_ff\" has a value of the wrong type"));
  EXPECT_THAT(failure_of(replaced(good, "1024", "-1")), HasSubstr("d_ff must be at least 1"));
  EXPECT_THAT(failure_of(replaced(good, "\"softmax\"", "\"hardmax\"")), HasSubstr("hardmax"));
  EXPECT_THAT(failure_of(replaced(good, "filigree-transformer", "bert")), HasSubstr("bert"));
  EXPECT_THAT(failure_of(replaced(good, "\"heads\": 4", "\"heads\": 3")),
              HasSubstr("multiple of heads"));
  EXPECT_THAT(failure_of(replaced(good, "1.25", "0.5")), HasSubstr("alpha must be"));
}

TEST(ModelConfig, TransformsHaveTheirNames) {
  for (const char* name : {"softmax", "sparsemax", "entmax15", "entmax", "adaptive"}) {
    EXPECT_EQ(to_string(parse_transform(name, "--attention")), name);
  }
  EXPECT_THROW(parse_transform("relu", "--attention"), UsageError);
  EXPECT_EQ(AttentionTransform{.transform = Transform::kSparsemax}.fixed_alpha(), 2);
  EXPECT_EQ(AttentionTransform{.transform = Transform::kEntmax15}.fixed_alpha(), 1.5);
  EXPECT_EQ(AttentionTransform{.transform = Transform::kSoftmax}.fixed_alpha(), 1);
}

}  // namespace
}  // namespace filigree::model
