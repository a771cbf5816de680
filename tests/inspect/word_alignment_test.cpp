#include "filigree/inspect/word_alignment.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>

#include "filigree/base/error.h"
#include "tests/inspect/random_attention.h"

namespace filigree::inspect {
namespace {

TEST(WordAlignment, ReadsSureAndPossibleLinks) {
  EXPECT_THAT(parse_alignment("0-0 12-3 4p5", "f", 1),
              testing::ElementsAre(Link{0, 0, true}, Link{12, 3, true}, Link{4, 5, false}));
  EXPECT_TRUE(parse_alignment("", "f", 1).empty());
}

TEST(WordAlignment, NamesTheLineOfWhatIsNoLink) {
  for (const char* bad : {"0", "0-", "-1-2", "a-b", "0-1x"}) {
    try {
      parse_alignment(bad, "gold.txt", 7);
      ADD_FAILURE() << bad;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::StartsWith("gold.txt:7: ")) << bad;
    }
  }
}

TEST(WordAlignment, CountsAgreementOfTheLargestWeight) {
  const Tokens source = source_of("_the _zeb ra");  // and </s>
  const Tokens target = target_of("_das _Zeb ra");  // after <s>
  // Rows: <s> predicts das, das predicts Zeb, Zeb predicts ra; ra predicts </s>.
  const Dense w = {{.9f, 0, 0, .1f}, {.3f, .2f, .2f, .3f}, {.2f, 0, .1f, .7f}, {0, 0, 0, 1}};
  const WordAlignment gold = {{0, 0, true}, {1, 1, true}, {0, 1, false}};
  // As outputs: das → the (0.9). Zebra's rows 1 and 2: the 0.5, zebra 0.5; the first wins.
  const AlignmentCounts output =
      measure_alignment(sparse(w), target, source, gold, AlignmentStep::kOutput);
  EXPECT_EQ(output.predicted, 2);
  EXPECT_EQ(output.sure, 2);
  EXPECT_EQ(output.hits_sure, 1);
  EXPECT_EQ(output.hits_possible, 2);
  EXPECT_DOUBLE_EQ(output.error_rate(), 1 - 3.0 / 4);
  // As inputs: das (row 1) → zebra (0.4), which is wrong; Zebra (rows 2 and 3) → the, possible.
  const AlignmentCounts input =
      measure_alignment(sparse(w), target, source, gold, AlignmentStep::kInput);
  EXPECT_EQ(input.hits_sure, 0);
  EXPECT_EQ(input.hits_possible, 1);
}

TEST(WordAlignment, OfRandomAttentionEqualsItsDefinition) {
  const Tokens source = source_of("_the _zeb ra _runs");
  const Tokens target = target_of("_das _Zeb ra _läu ft");
  const std::vector<int> source_word = {0, 1, 1, 2, -1}, target_word = {-1, 0, 1, 1, 2, 2};
  const WordAlignment gold = {
      {0, 0, true}, {1, 1, true}, {0, 1, false}, {2, 2, true}, {1, 2, false}};
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Dense w = random_attention(AttentionBlock::kCross, 6, 5, seed);
    for (const AlignmentStep step : {AlignmentStep::kOutput, AlignmentStep::kInput}) {
      const size_t before = step == AlignmentStep::kOutput ? 1 : 0;
      double links = 0, sure = 0, possible = 0;
      for (int t = 0; t < 3; ++t) {
        std::array<double, 3> mass{};
        for (size_t piece = 1; piece < 6; ++piece) {
          if (target_word[piece] != t) continue;
          for (size_t k = 0; k < 4; ++k) {
            mass[static_cast<size_t>(source_word[k])] += w[piece - before][k];
          }
        }
        const auto best = std::max_element(mass.begin(), mass.end());
        if (*best == 0) continue;
        ++links;
        for (const Link& link : gold) {
          if (link.target != t || link.source != best - mass.begin()) continue;
          ++possible;
          sure += link.sure;
        }
      }
      const AlignmentCounts counts = measure_alignment(sparse(w), target, source, gold, step);
      EXPECT_DOUBLE_EQ(counts.error_rate(), 1 - (sure + possible) / (links + 3)) << seed;
    }
  }
}

TEST(WordAlignment, AWordThatLooksAtTheEndMarkAloneHasNoLink) {
  const Tokens source = source_of("_a"), target = target_of("_b");
  const Dense w = {{0, 1}, {1, 0}};
  EXPECT_EQ(measure_alignment(sparse(w), target, source, {}, AlignmentStep::kOutput).predicted, 0);
}

TEST(WordAlignment, RefusesLinksOfWordsThatAreNotThere) {
  EXPECT_THROW(check_alignment({{2, 0}}, source_of("_a b _c"), target_of("_b"), "f", 1), Error);
  EXPECT_NO_THROW(check_alignment({{1, 0}}, source_of("_a b _c"), target_of("_b"), "f", 1));
}

}  // namespace
}  // namespace filigree::inspect
