#include "filigree/translate/n_best_list.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "filigree/base/error.h"
#include "filigree/translate/score_summary.h"

namespace filigree::translate {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(NBestList, EntriesComeBackAsTheyWere) {
  for (const char* line :
       {"0 ||| a b ||| F0= -1.500000 ||| -0.500000", "17 |||  ||| F0= -1 LM0= -2 ||| -2.000000",
        "3 ||| a ||| F0= -1 ||| -2.000000 ||| 0-0 1-1", "3 ||| a ||| F0= -1 ||| -2.000000 |||"}) {
    EXPECT_EQ(format_n_best_entry(parse_n_best_entry(line)), line);
  }
}

TEST(NBestList, LinesThatAreNoEntriesAreErrors) {
  for (const char* line : {"", "a b", "0 ||| a ||| F0= -1", "x ||| a ||| F0= -1 ||| -1",
                           "-1 ||| a ||| F0= -1 ||| -1", "0 ||| a ||| F0= -1 ||| x"}) {
    EXPECT_THROW(parse_n_best_entry(line), Error) << line;
  }
}

TEST(NBestList, FeaturesAreAddedOnce) {
  NBestEntry entry = parse_n_best_entry("0 ||| a ||| F0= -1 ||| -1");
  add_feature(entry, "F1", -2);
  EXPECT_EQ(entry.features, "F0= -1 F1= -2.000000");
  add_feature(entry, "1", -2);  // the end of another name is no name
  EXPECT_THAT([&] { add_feature(entry, "F0", 0); },
              ThrowsMessage<Error>(HasSubstr("has a feature F0= already")));
}

TEST(NBestList, IsSortedByTheWeightedScore) {
  std::vector<NBestEntry> list;
  for (const char* text : {"a", "b", "c"}) {
    list.push_back({.text = text, .score = list.empty() ? -1.0 : -2.0});
  }
  std::vector<NBestEntry> half = list;
  rerank(half, {-4, -1, -1}, 0.5);
  EXPECT_EQ(half[0].text, "b");
  EXPECT_EQ(half[1].text, "c");
  EXPECT_EQ(half[2].text, "a");
  EXPECT_EQ(half[2].score, -2.5);
  rerank(list, {-std::numeric_limits<double>::infinity(), -3, -2}, 1);
  EXPECT_EQ(list[0].text, "c");
  EXPECT_EQ(list[2].text, "a");
}

TEST(ScoreSummary, IsOverPiecesAndOverWords) {
  ScoreSummary summary(100);
  Translation translation;
  Output output;
  output.text = "two words";
  output.token_log_probabilities = {-1, -2, -3, -0.5f};  // three pieces and the end
  output.log_probability = -6.5;
  translation.n_best = {output};
  summary.add(translation);
  EXPECT_DOUBLE_EQ(summary.cross_entropy(), 6.5 / 4);
  EXPECT_DOUBLE_EQ(summary.cross_entropy_of_words(), 6.5 / 3);
  EXPECT_THAT(summary.text(false), HasSubstr("perplexity          5.078419\n"));
}

TEST(ScoreSummary, HasAFinitePerplexityWithZeros) {
  ScoreSummary summary(100);
  Translation translation;
  Output output;
  output.token_log_probabilities = {-std::numeric_limits<float>::infinity(), 0};
  output.log_probability = -std::numeric_limits<double>::infinity();
  translation.n_best = {output};
  summary.add(translation);
  // ε = 0.0001, 1 + 100 ε = 1.01.
  EXPECT_NEAR(summary.epsilon_perplexity(), 1 / std::sqrt(0.0001 / 1.01 * (1.0001 / 1.01)), 1e-9);
  EXPECT_THAT(summary.text(true), HasSubstr("impossible pairs    1\n"));
  EXPECT_THAT(summary.json(true), HasSubstr("\"perplexity\":null"));
}

}  // namespace
}  // namespace filigree::translate
