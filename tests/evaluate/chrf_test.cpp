#include "filigree/evaluate/chrf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "filigree/base/error.h"

namespace filigree::evaluate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// [output, reference, matches] of each order for one segment and reference.
std::vector<int64_t> counts_of(const ChrfOptions& options, std::string_view hypothesis,
                               const std::string& reference) {
  return count_segment(Chrf(options), hypothesis, {reference});
}

TEST(Chrf, CountsCharacterNgrams) {
  EXPECT_THAT(counts_of({.char_order = 2}, "abab", "abc"), ElementsAre(4, 3, 2, 3, 2, 1));
}

TEST(Chrf, LeavesWhiteSpaceOutUnlessAskedFor) {
  EXPECT_THAT(counts_of({.char_order = 2}, "a\u00a0b", "a b"), ElementsAre(2, 2, 2, 1, 1, 1));
  EXPECT_THAT(counts_of({.char_order = 2, .whitespace = true}, "a\u00a0b", "a b"),
              ElementsAre(3, 3, 2, 2, 2, 0));
}

TEST(Chrf, CharactersAreCodePoints) {
  EXPECT_THAT(counts_of({.char_order = 1}, "ß😀", "ß"), ElementsAre(2, 1, 1));
}

TEST(Chrf, WordNgramsSplitOffOnePunctuationMark) {
  // "(hi)" gives "(hi" and ")", "(hi" gives "(" and "hi", "!" stays.
  EXPECT_THAT(counts_of({.char_order = 1, .word_order = 1}, "(hi) (hi !", "hi hi ) ( !"),
              ElementsAre(8, 7, 7, 5, 5, 4));
}

TEST(Chrf, AnOrderThatTheReferenceLacksDoesNotCount) {
  EXPECT_THAT(counts_of({.char_order = 2}, "abc", "a"), ElementsAre(3, 1, 1, 0, 0, 0));
}

TEST(Chrf, RecallCountsBetaTimesAsMuch) {
  // Precision 1/2, recall 1: F2 = 5 · ½ · 1 / (4 · ½ + 1).
  EXPECT_NEAR(corpus_chrf({"ab"}, {{"a"}}, {.char_order = 1}).score, 100 * 2.5 / 3, 1e-10);
  EXPECT_NEAR(corpus_chrf({"ab"}, {{"a"}}, {.char_order = 1, .beta = 1}).score, 200. / 3, 1e-10);
}

TEST(Chrf, AveragesOverTheOrdersThatHaveNgrams) {
  // Order 1: precision and recall 1/2; order 2: 0; the others have no n-gram.
  EXPECT_NEAR(corpus_chrf({"ab"}, {{"ac"}}).score, 25, 1e-10);
}

TEST(Chrf, EpsilonSmoothingAveragesOverAllOrders) {
  EXPECT_NEAR(corpus_chrf({"ab"}, {{"ac"}}, {.eps_smoothing = true}).score, 50. / 6, 1e-10);
}

TEST(Chrf, EqualTextScoresHundredAndEmptyOutputZero) {
  EXPECT_NEAR(corpus_chrf({"guten Tag"}, {{"guten Tag"}}).score, 100, 1e-10);
  EXPECT_EQ(corpus_chrf({""}, {{"guten Tag"}}).score, 0);
  EXPECT_EQ(corpus_chrf({""}, {{""}}).score, 0);
}

TEST(Chrf, TheBestReferenceOfASegmentCounts) {
  EXPECT_NEAR(corpus_chrf({"abc", "xyz"}, {{"abc", "q"}, {"q", "xyz"}}).score, 100, 1e-10);
}

TEST(Chrf, LowerCasesWhenAsked) {
  EXPECT_EQ(corpus_chrf({"ÄB"}, {{"äb"}}).score, 0);
  EXPECT_NEAR(corpus_chrf({"ÄB"}, {{"äb"}}, {.lowercase = true}).score, 100, 1e-10);
}

TEST(Chrf, NameTellsBetaAndWordOrder) {
  EXPECT_EQ(Chrf().name(), "chrF2");
  EXPECT_EQ(Chrf({.beta = 3}).name(), "chrF3");
  EXPECT_EQ(sentence_chrf("a", {"a"}, kChrfPlusPlus).name, "chrF2++");
}

TEST(Chrf, SignatureNamesSettings) {
  EXPECT_THAT(signature(Chrf(), 1),
              HasSubstr("nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|impl:filigree|version:"));
  EXPECT_THAT(signature(Chrf({.char_order = 4,
                              .word_order = 2,
                              .lowercase = true,
                              .whitespace = true,
                              .eps_smoothing = true}),
                        3),
              HasSubstr("nrefs:3|case:lc|eff:no|nc:4|nw:2|space:yes|"));
}

TEST(Chrf, OptionsOutOfRangeAreUsageErrors) {
  EXPECT_THROW(Chrf({.char_order = 0}), UsageError);
  EXPECT_THROW(Chrf({.word_order = -1}), UsageError);
  EXPECT_THROW(Chrf({.beta = 0}), UsageError);
}

TEST(Chrf, SizesThatDoNotPairAreRefused) {
  EXPECT_THROW(corpus_chrf({"a"}, {{"a", "b"}}), Error);
  EXPECT_THROW(corpus_chrf({"a"}, {}), Error);
}

}  // namespace
}  // namespace filigree::evaluate
