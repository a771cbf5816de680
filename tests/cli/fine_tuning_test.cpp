// filigree train --init-from, --freeze, --precision and --device as a program.
#include <gmock/gmock.h>

#include <filesystem>

#include "filigree/model/precision.h"
#include "tests/cli/matchers.h"
#include "tests/cli/process.h"
#include "tests/cli/toy_corpus.h"

namespace filigree::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class FineTuning : public testing::Test {
 protected:
  /// A training of five updates on the toy text, of options given and no others.
  std::vector<std::string> command(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"train",
                                      "--train-sets",
                                      folder_ / "train.src",
                                      folder_ / "train.trg",
                                      "--max-steps",
                                      "5",
                                      "--threads",
                                      "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Outcome quiet(std::vector<std::string> more) const {
    more.insert(more.end(), {"--log-level", "error"});
    return run_filigree(command(more));
  }
  /// A softmax model in folder/old.
  void train_old() const {
    ASSERT_EQ(run_filigree(folder_.train_command(old_, {"--attention", "softmax"})).exit_code, 0);
  }

  ToyFolder folder_;
  const std::string old_ = folder_ / "old", model_ = folder_ / "model";
};

TEST_F(FineTuning, ASoftmaxModelBecomesAdaptive) {
  train_old();
  const Outcome outcome =
      run_filigree(command({"--model", model_, "--init-from", old_, "--attention", "adaptive"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("the vocabulary is that of " + old_),
                    HasSubstr("cross attention: softmax becomes adaptive, starting at α 1.01")));
  EXPECT_TRUE(content_of(model_ + "/shared.spm") == content_of(old_ + "/shared.spm"));
  const Outcome info = run_filigree({"info", model_});
  EXPECT_THAT(info.out, AllOf(HasSubstr("layers       1 encoder, 1 decoder"),
                              HasSubstr("width        32, feed-forward 32, 2 heads")));
  const Outcome translated = run_filigree({"translate", "--model", model_}, "one red cat\n");
  EXPECT_EQ(translated.exit_code, 0) << translated.err;
}

TEST_F(FineTuning, WhatIsNotGivenIsAsInTheOtherModel) {
  train_old();
  ASSERT_EQ(quiet({"--model", model_, "--init-from", old_}).exit_code, 0);
  EXPECT_TRUE(content_of(model_ + "/config.json") == content_of(old_ + "/config.json"));
  ASSERT_EQ(quiet({"--model", folder_ / "deep", "--init-from", old_, "--encoder-layers", "3",
                   "--vocab-size", "50", "--separate-vocabularies"})
                .exit_code,
            0);
  const Outcome info = run_filigree({"info", folder_ / "deep"});
  EXPECT_THAT(info.out, AllOf(HasSubstr("3 encoder, 1 decoder"), HasSubstr("source pieces"),
                              HasSubstr("encoder att. softmax")));
}

TEST_F(FineTuning, ADumpHoldsOnlyWhatWasGiven) {
  const Outcome dump = run_filigree(command(
      {"--model", model_, "--init-from", old_, "--attention", "entmax15", "--dump-config"}));
  EXPECT_EQ(dump.exit_code, 0) << dump.err;
  EXPECT_THAT(dump.out, AllOf(HasSubstr("init-from: "), HasSubstr("attention: entmax15"),
                              Not(HasSubstr("preset")), Not(HasSubstr("vocab-size"))));
}

TEST_F(FineTuning, AModelThatCannotBeTakenIsOneLine) {
  EXPECT_THAT(quiet({"--model", model_, "--init-from", folder_ / "absent"}),
              FailsWith(1, HasSubstr("absent: no such model directory")));
  EXPECT_THAT(quiet({"--model", model_, "--init-from", folder_.path().string()}),
              FailsWith(1, HasSubstr("not a model directory")));
  train_old();
  EXPECT_THAT(quiet({"--model", model_, "--init-from", old_, "--d-model", "64"}),
              FailsWith(1, AllOf(HasSubstr(old_ + ": "), HasSubstr("32 there and 64 here"))));
  EXPECT_THAT(quiet({"--model", old_, "--init-from", old_}),
              FailsWith(2, HasSubstr("--init-from")));
}

TEST_F(FineTuning, AFrozenPatternThatMatchesNothingIsOneLine) {
  const Outcome outcome = run_filigree(
      folder_.train_command(model_, {"--freeze", "encoder.*", "decodr.*", "--log-level", "error"}));
  EXPECT_THAT(outcome, FailsWith(2, AllOf(HasSubstr("--freeze"), HasSubstr("decodr.*"),
                                          HasSubstr("embedding.weight"))));
}

TEST_F(FineTuning, AFrozenTrainingSaysWhatTrains) {
  const Outcome outcome =
      run_filigree(folder_.train_command(model_, {"--freeze", "embedding.*", "encoder.*"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, testing::ContainsRegex("of which [0-9,]+ train"));
}

TEST_F(FineTuning, DevicesAndPrecisionsThatAreNotThereAreOneLine) {
  EXPECT_THAT(quiet({"--model", model_, "--device", "gpu"}),
              FailsWith(2, AllOf(HasSubstr("--device"), HasSubstr("cuda:1"))));
  EXPECT_THAT(quiet({"--model", model_, "--precision", "int8"}),
              FailsWith(2, HasSubstr("--precision")));
  EXPECT_THAT(quiet({"--model", model_, "--device", "cuda:99"}),
              FailsWith(1, HasSubstr("--device cuda:99: ")));
}

TEST_F(FineTuning, Bfloat16TrainsWhereTheProcessorHasIt) {
  const Outcome outcome = run_filigree(
      folder_.train_command(model_, {"--precision", "bfloat16", "--log-level", "error"}));
  if (!model::has_bfloat16_instructions()) {
    EXPECT_THAT(outcome, FailsWith(1, HasSubstr("--precision bfloat16")));
    return;
  }
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(run_filigree({"info", model_}).exit_code, 0);
}

}  // namespace
}  // namespace filigree::test
