#include "filigree/evaluate/bleu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "filigree/base/error.h"

namespace filigree::evaluate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Segments kHypothesis = {"the cat sat on the mat"};
const References kReference = {{"the cat is on the mat"}};

BleuScore score_with(Smoothing smoothing, std::optional<double> value = {}) {
  return corpus_bleu(kHypothesis, kReference, {.smoothing = smoothing, .smooth_value = value});
}

TEST(Bleu, CountsMatchesOfEachOrder) {
  const BleuScore score = corpus_bleu(kHypothesis, kReference);
  EXPECT_THAT(score.counts, ElementsAre(5, 3, 1, 0));
  EXPECT_THAT(score.totals, ElementsAre(6, 5, 4, 3));
  EXPECT_EQ(score.system_length, 6);
  EXPECT_EQ(score.reference_length, 6);
  EXPECT_EQ(score.brevity_penalty, 1);
}

TEST(Bleu, ExponentialSmoothingGivesHalfAMatchToTheFirstEmptyOrder) {
  EXPECT_NEAR(score_with(Smoothing::kExponential).score,
              100 * std::pow(5. / 6 * 3 / 5 * 1 / 4 * 0.5 / 3, 0.25), 1e-10);
}

TEST(Bleu, ExponentialSmoothingHalvesAtEachEmptyOrder) {
  const BleuScore score = corpus_bleu({"a x b y c"}, {{"a b c d e"}});
  EXPECT_THAT(score.precisions, ElementsAre(60, 12.5, testing::DoubleNear(25. / 3, 1e-12), 6.25));
}

TEST(Bleu, FloorSmoothingGivesASmallCount) {
  EXPECT_NEAR(score_with(Smoothing::kFloor).score,
              100 * std::pow(5. / 6 * 3 / 5 * 1 / 4 * 0.1 / 3, 0.25), 1e-10);
  EXPECT_NEAR(score_with(Smoothing::kFloor, 0.02).score,
              100 * std::pow(5. / 6 * 3 / 5 * 1 / 4 * 0.02 / 3, 0.25), 1e-10);
}

TEST(Bleu, AddKSmoothingSparesUnigrams) {
  EXPECT_NEAR(score_with(Smoothing::kAddK).score,
              100 * std::pow(5. / 6 * 4 / 6 * 2 / 5 * 1 / 4, 0.25), 1e-10);
}

TEST(Bleu, WithoutSmoothingAnEmptyOrderMakesTheScoreZero) {
  const BleuScore score = score_with(Smoothing::kNone);
  EXPECT_EQ(score.score, 0);
  EXPECT_GT(score.precisions[2], 0);
}

TEST(Bleu, NoMatchAtAllScoresZeroWhateverTheSmoothing) {
  for (const auto smoothing : {Smoothing::kExponential, Smoothing::kFloor, Smoothing::kAddK}) {
    EXPECT_EQ(corpus_bleu({"a b c d e"}, {{"v w x y z"}}, {.smoothing = smoothing}).score, 0);
  }
}

TEST(Bleu, EqualTextScoresHundred) {
  EXPECT_NEAR(corpus_bleu({"a b c d", "e"}, {{"a b c d", "e"}}).score, 100, 1e-10);
}

TEST(Bleu, EqualTextWithoutAnyFourTokensScoresZero) {
  EXPECT_EQ(corpus_bleu({"a b c"}, {{"a b c"}}).score, 0);
}

TEST(Bleu, EmptyOutputScoresZero) {
  const BleuScore score = corpus_bleu({"", ""}, {{"a b", "c"}});
  EXPECT_EQ(score.score, 0);
  EXPECT_EQ(score.brevity_penalty, 0);
  EXPECT_EQ(score.reference_length, 3);
}

TEST(Bleu, ShortOutputIsPenalised) {
  const BleuScore score = corpus_bleu({"a b c d"}, {{"a b c d e f"}});
  EXPECT_DOUBLE_EQ(score.brevity_penalty, std::exp(-0.5));
  EXPECT_NEAR(score.score, 100 * std::exp(-0.5), 1e-10);
}

TEST(Bleu, TheReferenceClosestInLengthCountsTheShorterOnATie) {
  EXPECT_EQ(corpus_bleu({"a b c"}, {{"a"}, {"a b c d e"}, {"a b c d"}}).reference_length, 4);
  EXPECT_EQ(corpus_bleu({"a b c"}, {{"a b c d"}, {"a b"}}).reference_length, 2);
}

TEST(Bleu, MatchesAreClippedAtTheReferenceThatHasMost) {
  EXPECT_EQ(corpus_bleu({"the the the the"}, {{"the cat"}, {"the the dog"}}).counts[0], 2);
}

TEST(Bleu, CaseCountsUnlessLowered) {
  EXPECT_EQ(corpus_bleu({"A B C D"}, {{"a b c d"}}).score, 0);
  EXPECT_NEAR(corpus_bleu({"A B C D"}, {{"a b c d"}}, {.lowercase = true}).score, 100, 1e-10);
}

TEST(Bleu, ASmallerOrderLeavesLongerNgramsOut) {
  const BleuScore score = corpus_bleu(kHypothesis, kReference, {.max_order = 2});
  EXPECT_THAT(score.counts, ElementsAre(5, 3));
  EXPECT_NEAR(score.score, 100 * std::sqrt(0.5), 1e-10);
}

TEST(Bleu, SentencesUseEffectiveOrder) {
  EXPECT_NEAR(sentence_bleu("a b", {"a b"}).score, 100, 1e-10);
  EXPECT_EQ(sentence_bleu("", {"a b"}).score, 0);
}

TEST(Bleu, TextIsOneLine) {
  EXPECT_EQ(corpus_bleu(kHypothesis, kReference).text(),
            "BLEU = 37.99 83.3/60.0/25.0/16.7 (BP = 1.000 ratio = 1.000 hyp_len = 6 ref_len = 6)");
  EXPECT_EQ(corpus_bleu({"a"}, {{""}}).text(),
            "BLEU = 0.00 0.0/0.0/0.0/0.0 (BP = 1.000 ratio = 0.000 hyp_len = 1 ref_len = 0)");
}

TEST(Bleu, SignatureNamesSettingsAndImplementation) {
  EXPECT_THAT(signature(Bleu(), 1),
              testing::MatchesRegex("nrefs:1\\|case:mixed\\|eff:no\\|tok:13a\\|smooth:exp\\|"
                                    "impl:filigree\\|version:[0-9.]+"));
  EXPECT_THAT(signature(Bleu({.tokenizer = Tokenizer::kChinese,
                              .lowercase = true,
                              .smoothing = Smoothing::kFloor,
                              .effective_order = true}),
                        2),
              HasSubstr("nrefs:2|case:lc|eff:yes|tok:zh|smooth:floor[0.10]|impl"));
  EXPECT_THAT(signature(Bleu({.smoothing = Smoothing::kAddK, .smooth_value = 0.5}), 1),
              HasSubstr("smooth:add-k[0.50]"));
  EXPECT_THAT(signature(Bleu({.max_order = 2}), 1), HasSubstr("|order:2|"));
  EXPECT_THAT(signature(Bleu(), 1, Resampling{.samples = 1000, .seed = 12345}),
              HasSubstr("nrefs:1|bs:1000|seed:12345|case:mixed|"));
}

TEST(Bleu, SizesThatDoNotPairAreRefusedWithBothNumbers) {
  try {
    corpus_bleu({"a", "b"}, {{"a", "b"}, {"a"}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "2 hypotheses but 1 references in set 2; they must pair up line by line");
  }
  EXPECT_THROW(corpus_bleu({"a"}, {}), Error);
  EXPECT_THROW(corpus_bleu({}, {{}}), Error);
  EXPECT_THROW(sentence_bleu("a", {}), Error);
}

TEST(Bleu, OptionsOutOfRangeAreUsageErrors) {
  EXPECT_THROW(Bleu({.max_order = 0}), UsageError);
  EXPECT_THROW(Bleu({.smoothing = Smoothing::kFloor, .smooth_value = -1}), UsageError);
  EXPECT_THROW(Bleu({.smoothing = Smoothing::kFloor, .smooth_value = std::nan("")}), UsageError);
  EXPECT_THROW(Bleu({.smoothing = Smoothing::kExponential, .smooth_value = 1}), UsageError);
  EXPECT_THROW(smoothing_from_name("linear"), UsageError);
}

TEST(Bleu, SmoothingNamesGoBothWays) {
  for (const auto* name : {"exp", "floor", "add-k", "none"}) {
    EXPECT_EQ(to_string(smoothing_from_name(name)), name);
  }
}

}  // namespace
}  // namespace filigree::evaluate
