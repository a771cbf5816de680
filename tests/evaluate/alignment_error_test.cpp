#include "filigree/evaluate/alignment_error.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "filigree/base/error.h"
#include "filigree/base/random.h"
#include "filigree/evaluate/report.h"

namespace filigree::evaluate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

TEST(Links, AreReadSortedAndOnce) {
  EXPECT_THAT(parse_links(" 2-1 0-0\t0-0 10-3 "), ElementsAre(Link{0, 0}, Link{2, 1}, Link{10, 3}));
  EXPECT_THAT(parse_links(""), IsEmpty());
  EXPECT_EQ(format_links(parse_links("2-1 0-0")), "0-0 2-1");
  EXPECT_EQ(format_links({}), "");
}

TEST(Links, MayBePossibleInAGoldAlignment) {
  const GoldLinks gold = parse_gold_links("0-0 1?2 2p2");
  EXPECT_THAT(gold.sure, ElementsAre(Link{0, 0}));
  EXPECT_THAT(gold.possible, ElementsAre(Link{0, 0}, Link{1, 2}, Link{2, 2}));
}

TEST(Links, MayCountFromOne) {
  EXPECT_THAT(parse_links("1-1 3-2", 1), ElementsAre(Link{0, 0}, Link{2, 1}));
  EXPECT_THROW(parse_links("0-1", 1), Error);
}

TEST(Links, ThatAreNoneAreErrors) {
  for (const char* bad :
       {"1", "1-", "-1", "1-2-3", "a-b", "1=2", "1 -2", "1- 2", "99999999999-1", "1--2", "0-0 x"}) {
    EXPECT_THROW(parse_links(bad), Error) << bad;
    EXPECT_THROW(parse_gold_links(bad), Error) << bad;
  }
  EXPECT_THROW(parse_links("1?2"), Error);
}

// By hand: A = {0-0, 1-1, 2-2, 3-2}, S = {0-0, 1-1, 4-3}, P = S ∪ {2-2}. |A ∩ S| = 2, |A ∩ P| = 3.
TEST(AlignmentErrorRate, EqualsAHandComputedOne) {
  AlignmentCounts counts;
  counts.add(parse_links("0-0 1-1 2-2 3-2"), parse_gold_links("0-0 1-1 4-3 2?2"));
  EXPECT_DOUBLE_EQ(counts.precision(), 3. / 4);
  EXPECT_DOUBLE_EQ(counts.recall(), 2. / 3);
  EXPECT_DOUBLE_EQ(counts.error_rate(), 1 - (2. + 3.) / (4. + 3.));
}

TEST(AlignmentErrorRate, IsZeroForTheGoldLinksAndOneForNone) {
  AlignmentCounts equal, none, nothing;
  equal.add(parse_links("0-0 1-1"), parse_gold_links("0-0 1?1"));
  EXPECT_EQ(equal.error_rate(), 0);
  none.add({}, parse_gold_links("0-0"));
  EXPECT_EQ(none.error_rate(), 1);
  EXPECT_EQ(none.precision(), 1);
  EXPECT_EQ(nothing.error_rate(), 0);
}

// The sets as the formula has them, link by link over all cells.
TEST(AlignmentErrorRate, EqualsBruteForceOverRandomSets) {
  Random random(3);
  AlignmentCounts counts;
  double sure_found = 0, possible_found = 0, found = 0, sure = 0;
  for (int sentence = 0; sentence < 50; ++sentence) {
    std::string links, gold;
    for (int source = 0; source < 6; ++source) {
      for (int target = 0; target < 6; ++target) {
        const bool in_a = random.below(4) == 0, in_p = random.below(3) == 0,
                   in_s = in_p && random.below(2) == 0;
        const auto text = [&](char c) {
          return std::to_string(source) + c + std::to_string(target) + " ";
        };
        if (in_a) links += text('-');
        if (in_p) gold += text(in_s ? '-' : '?');
        sure_found += in_a && in_s;
        possible_found += in_a && in_p;
        found += in_a;
        sure += in_s;
      }
    }
    counts.add(parse_links(links), parse_gold_links(gold));
  }
  EXPECT_DOUBLE_EQ(counts.precision(), possible_found / found);
  EXPECT_DOUBLE_EQ(counts.recall(), sure_found / sure);
  EXPECT_DOUBLE_EQ(counts.error_rate(), 1 - (sure_found + possible_found) / (found + sure));
}

TEST(AlignmentErrorRate, IsAMetricOfLinesOfLinks) {
  const EvaluateOptions options{.metrics = {"aer"}, .first_word = 1};
  const Report report = evaluate({{"x", {"0-0 1-1", ""}}}, {{"1-1 2?2", "1-1"}}, options);
  const MetricResult& aer = report.systems[0].metrics[0];
  EXPECT_EQ(aer.name, "AER");
  EXPECT_DOUBLE_EQ(aer.score, 100 * (1 - 3. / 4));
  EXPECT_EQ(aer.details, "precision = 100.00 recall = 50.00 (links = 2 sure = 2)");
}

TEST(AlignmentErrorRate, NamesTheLineOfABadLink) {
  const EvaluateOptions options{.metrics = {"aer"}};
  EXPECT_THAT(
      [&] {
        evaluate({{"x", {"0-0", "0:1"}}}, {{"0-0", "0-1"}}, options);
      },
      ThrowsMessage<Error>(HasSubstr("x: line 2: '0:1' is not a link")));
  EXPECT_THAT(
      [&] {
        evaluate({{"x", {"0-0", "0-1"}}}, {{"0-0", "0:1"}}, options);
      },
      ThrowsMessage<Error>(HasSubstr("x: line 2: gold alignment: '0:1' is not a link")));
}

}  // namespace
}  // namespace filigree::evaluate
