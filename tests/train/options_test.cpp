#include "filigree/train/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "filigree/base/error.h"

namespace filigree::train {
namespace {

using testing::HasSubstr;

TrainOptions good_options() {
  TrainOptions options;
  options.model = "m";
  options.train_sets = {"a", "b"};
  options.valid_sets = {"c", "d"};
  return options;
}

TEST(TrainOptions, EveryValueOutOfRangeNamesItsOption) {
  EXPECT_NO_THROW(validate(good_options()));
  const std::pair<const char*, std::function<void(TrainOptions&)>> cases[] = {
      {"--model", [](auto& o) { o.model.clear(); }},
      {"--train-sets", [](auto& o) { o.train_sets.clear(); }},
      {"--train-sets", [](auto& o) { o.train_sets.push_back("odd"); }},
      {"--valid-sets", [](auto& o) { o.valid_sets = {"c"}; }},
      {"--corpus-weights",
       [](auto& o) {
         o.corpus_weights = {1, 2};
       }},
      {"--corpus-weights", [](auto& o) { o.corpus_weights = {-1}; }},
      {"--vocabs",
       [](auto& o) {
         o.vocabs = {"a", "b", "c"};
       }},
      {"--max-length", [](auto& o) { o.filters.max_length = 0; }},
      {"--max-length-ratio", [](auto& o) { o.filters.max_length_ratio = 0.5; }},
      {"--min-script-share", [](auto& o) { o.filters.min_script_share = 1.5; }},
      {"--scripts", [](auto& o) { o.filters.target_script = "Martian"; }},
      {"--sentencepiece-alphas", [](auto& o) { o.sentencepiece_alphas = {-1}; }},
      {"--init-from", [](auto& o) { o.init_from = o.model = "."; }},
      {"--device", [](auto& o) { o.device = "cuda:x"; }},
      {"--precision", [](auto& o) { o.precision = "int8"; }},
      {"--learning-rate", [](auto& o) { o.learning_rate = 0; }},
      {"--warmup-steps", [](auto& o) { o.warmup_steps = -1; }},
      {"--adam-beta1", [](auto& o) { o.adam_beta1 = 1; }},
      {"--clip-norm", [](auto& o) { o.clip_norm = -1; }},
      {"--label-smoothing", [](auto& o) { o.label_smoothing = 1; }},
      {"--dropout", [](auto& o) { o.dropout = 1.5; }},
      {"--attention-dropout", [](auto& o) { o.attention_dropout = -0.1; }},
      {"--batch-tokens", [](auto& o) { o.batch_tokens = 0; }},
      {"--accumulate", [](auto& o) { o.accumulate = 0; }},
      {"--patience", [](auto& o) { o.patience = -1; }},
      {"--keep-last", [](auto& o) { o.keep_last = 0; }},
      {"--beam-size", [](auto& o) { o.beam_size = 0; }},
      {"--stopping-metric", [](auto& o) { o.translate_valid_set = false; }},
      {"--max-steps", [](auto& o) { o.valid_sets.clear(); }},
  };
  for (const auto& [name, change] : cases) {
    TrainOptions options = good_options();
    change(options);
    try {
      validate(options);
      ADD_FAILURE() << name << " was accepted";
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), HasSubstr(name));
    }
  }
}

TEST(TrainOptions, TsvTakesOneFileASet) {
  TrainOptions options = good_options();
  options.tsv = true;
  options.train_sets = {"a", "b", "c"};
  options.valid_sets = {"v"};
  EXPECT_NO_THROW(validate(options));
}

TEST(TrainOptions, NamesAreParsedOrRefused) {
  EXPECT_EQ(parse_schedule("noam"), Schedule::kNoam);
  EXPECT_EQ(parse_schedule("inverse-sqrt"), Schedule::kInverseSqrt);
  EXPECT_EQ(parse_schedule("constant"), Schedule::kConstant);
  EXPECT_THROW(parse_schedule("cosine"), UsageError);
  EXPECT_EQ(parse_stopping_metric("loss"), StoppingMetric::kLoss);
  EXPECT_EQ(parse_stopping_metric("bleu"), StoppingMetric::kBleu);
  EXPECT_EQ(parse_stopping_metric("chrf"), StoppingMetric::kChrf);
  EXPECT_THROW(parse_stopping_metric("ter"), UsageError);
}

}  // namespace
}  // namespace filigree::train
