// What a training says before its first update.
#include "filigree/train/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "filigree/train/corpora.h"
#include "tests/train/toy.h"

namespace filigree::train {
namespace {

using test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

DataChecks check(const TrainOptions& options) {
  const model::Tokenizers tokenizers = prepare_tokenizers(options, false);
  text::CorpusReport report;
  const text::PairStore store = open_training_sets(options, tokenizers, report);
  const auto validation = read_validation_set(options, tokenizers);
  return check_data(store, tokenizers, options.model_config.shared_vocabulary,
                    validation ? &*validation : nullptr);
}

TEST(DataChecks, FindNothingInGoodData) {
  const TemporaryFolder folder;
  TrainOptions options = toy_options(folder);
  // Lines of seven letters, so that none is in the training set, by a fixed seed.
  options.valid_sets = {folder.write("v.src", "abcdefa\nfedcbaf\naabbccd\n"),
                        folder.write("v.tgt", "AFEDCBA\nFABCDEF\nDCCBBAA\n")};
  const DataChecks checks = check(options);
  EXPECT_EQ(checks.pairs, 300);
  EXPECT_EQ(checks.validation_pairs, 3);
  EXPECT_THAT(warnings(checks), IsEmpty());
}

TEST(DataChecks, FindSwappedValidationSets) {
  const TemporaryFolder folder;
  TrainOptions options = toy_options(folder);
  std::swap(options.valid_sets[0], options.valid_sets[1]);
  EXPECT_THAT(warnings(check(options)), ElementsAre(HasSubstr("seem to be swapped")));
}

TEST(DataChecks, CountValidationPairsThatAreInTheTrainingSets) {
  const TemporaryFolder folder;
  TrainOptions options = toy_options(folder);
  options.train_sets = {folder.write("t.src", "abcd\nfade\nbead\ndeaf\n"),
                        folder.write("t.tgt", "DCBA\nEDAF\nDAEB\nFAED\n")};
  options.valid_sets = {folder.write("v.src", "fade\nabba\nfade\n"),
                        folder.write("v.tgt", "EDAF\nABBA\nFADE\n")};
  options.tokenizer.vocab_size = 20;
  EXPECT_THAT(warnings(check(options)), ElementsAre(HasSubstr("1 of 3 pairs")));
}

TEST(DataChecks, FindOneFileGivenTwice) {
  const TemporaryFolder folder;
  TrainOptions options = toy_options(folder);
  options.valid_sets.clear();
  options.train_sets[1] = options.train_sets[0];
  options.tokenizer.vocab_size = 16;
  EXPECT_THAT(warnings(check(options)), ElementsAre(HasSubstr("the same in 100 %")));
}

TEST(DataChecks, FindAVocabularyOfAnotherLanguage) {
  const TemporaryFolder folder;
  TrainOptions options = toy_options(folder);
  options.valid_sets.clear();
  const text::Tokenizer other = text::train_tokenizer(
      std::vector<std::string>{"uvwxyz", "zyxwvu", "ABCDEF"}, {.vocab_size = 20});
  options.vocabs = {folder.write("other.spm", other.bytes())};
  const DataChecks checks = check(options);
  EXPECT_GT(checks.unknown_source, 0.4);
  EXPECT_EQ(checks.unknown_target, 0);
  EXPECT_THAT(warnings(checks), ElementsAre(HasSubstr("of the training sources are unknown")));
}

TEST(Summary, SaysWhatTheTrainingWillTake) {
  Summary s;
  s.parameters = s.trained = 1 << 20;
  s.threads = 2;
  s.averages = true;
  s.steps = 100;
  s.seconds_per_step = 1.5;
  s.tokens_per_epoch = 1234567;
  EXPECT_EQ(state_bytes(s), int64_t{6} * 4 << 20);
  EXPECT_THAT(to_text(s), HasSubstr("parameters    1,048,576\n"));
  EXPECT_THAT(to_text(s), HasSubstr("24 MiB for weights, gradients and optimizer"));
  EXPECT_THAT(to_text(s), HasSubstr("1,234,567 target tokens"));
  EXPECT_THAT(to_text(s), HasSubstr("about 2m30s for 100 updates"));
}

TEST(Summary, WarnsOfOptionsThatAreFarFromUsual) {
  TrainOptions options;
  EXPECT_THAT(warnings(options, 0), IsEmpty());
  EXPECT_THAT(warnings(options, 1001), IsEmpty());
  EXPECT_THAT(warnings(options, 1000), ElementsAre(HasSubstr("--warmup-steps 1000")));
  options.learning_rate = 1;
  EXPECT_THAT(warnings(options, 0), ElementsAre(HasSubstr("--learning-rate 1 is unusual")));
  options.schedule = Schedule::kNoam;
  EXPECT_THAT(warnings(options, 0), IsEmpty());
  options.learning_rate = 1e-3;
  EXPECT_THAT(warnings(options, 0), ElementsAre(HasSubstr("--learning-rate")));
}

}  // namespace
}  // namespace filigree::train
