#include <gmock/gmock.h>

#include <algorithm>

#include "filigree/base/random.h"
#include "filigree/translate/phrase_graph.h"
#include "filigree/translate/repeated_ngrams.h"
#include "filigree/translate/required_phrases.h"

namespace filigree::translate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using Tokens = std::vector<int>;

Tokens repeating(const Tokens& tokens, int n) {
  Tokens forbidden;
  append_repeating_tokens(tokens, n, forbidden);
  return forbidden;
}

TEST(RepeatedNgrams, ForbidsWhatFollowedTheSameTokensBefore) {
  EXPECT_THAT(repeating({5, 6, 7, 5, 6}, 3), ElementsAre(7));
  EXPECT_THAT(repeating({5, 6, 5, 7, 5}, 2), UnorderedElementsAre(6, 7));
  EXPECT_THAT(repeating({5, 6}, 1), UnorderedElementsAre(5, 6));
  EXPECT_THAT(repeating({5, 5}, 2), ElementsAre(5));
  EXPECT_THAT(repeating({5, 6}, 3), IsEmpty());
  EXPECT_THAT(repeating({}, 4), IsEmpty());
}

Tokens completing(const PhraseGraph& graph, const Tokens& tokens) {
  Tokens forbidden;
  graph.append_completing_tokens(tokens, forbidden);
  return forbidden;
}

TEST(PhraseGraph, NamesTheTokensThatCompleteAPhrase) {
  PhraseGraph graph;
  graph.add_path(Tokens{1, 2, 3});
  graph.add_path(Tokens{2, 4});
  graph.add_path(Tokens{9});
  EXPECT_THAT(completing(graph, {}), ElementsAre(9));
  EXPECT_THAT(completing(graph, {1, 2}), UnorderedElementsAre(3, 4, 9));
  EXPECT_THAT(completing(graph, {1, 2, 5}), ElementsAre(9));
}

TEST(PhraseGraph, FindsPhrasesThatOverlapThemselves) {
  PhraseGraph graph;
  graph.add_path(Tokens{1, 1, 2});
  EXPECT_TRUE(graph.occurs_in(Tokens{1, 1, 1, 2}));
  EXPECT_FALSE(graph.occurs_in(Tokens{1, 2, 1, 1}));
}

TEST(PhraseGraph, EdgesFromTheBeginningHoldThereAndWhereTheyAreLedTo) {
  PhraseGraph graph;
  graph.add_edge(PhraseGraph::kBeginning, 5, PhraseGraph::kEnd);
  graph.add_edge(PhraseGraph::kStart, 8, PhraseGraph::kBeginning);
  EXPECT_TRUE(graph.occurs_in(Tokens{5}));
  EXPECT_FALSE(graph.occurs_in(Tokens{4, 5}));
  EXPECT_TRUE(graph.occurs_in(Tokens{4, 8, 5}));
}

TEST(PhraseGraph, OccurrencesEqualASearchForEveryPhrase) {
  Random random(1);
  const auto draw = [&](int least, int most) {
    Tokens tokens(least + random.below(most - least + 1));
    for (int& token : tokens) token = static_cast<int>(random.below(3));
    return tokens;
  };
  for (int trial = 0; trial < 2000; ++trial) {
    const std::vector<Tokens> phrases = {draw(2, 4), draw(2, 4)};
    PhraseGraph graph;
    for (const Tokens& phrase : phrases) graph.add_path(phrase);
    const Tokens tokens = draw(0, 9);
    const bool found = std::any_of(phrases.begin(), phrases.end(), [&](const Tokens& phrase) {
      return std::search(tokens.begin(), tokens.end(), phrase.begin(), phrase.end()) !=
             tokens.end();
    });
    EXPECT_EQ(graph.occurs_in(tokens), found);
  }
}

TEST(RequiredPhrases, CountsTheTokensThatAreStillNeeded) {
  const RequiredPhrases required({{{5, 6, 7}}, {{8}}});
  const auto needed = [&](const Tokens& tokens) {
    return required.tokens_needed(required.progress(tokens));
  };
  EXPECT_EQ(needed({}), 4);
  EXPECT_EQ(needed({5, 6}), 2);
  EXPECT_EQ(needed({5, 6, 4}), 4);
  EXPECT_EQ(needed({8, 5}), 2);
  EXPECT_EQ(needed({5, 6, 7, 4, 8}), 0);
}

TEST(RequiredPhrases, OneTokenServesSeveralPhrases) {
  const RequiredPhrases required({{{5, 6}}, {{6, 7}}});
  EXPECT_EQ(required.tokens_needed(required.progress(Tokens{5, 6, 7})), 0);
  EXPECT_EQ(required.tokens_needed(required.progress(Tokens{5, 6})), 1);
}

TEST(RequiredPhrases, AnyOfTheWaysIsEnough) {
  const RequiredPhrases required({{{5, 6}, {7}}});
  EXPECT_EQ(required.tokens_needed(required.progress({})), 1);
  EXPECT_EQ(required.tokens_needed(required.progress(Tokens{5, 6})), 0);
  EXPECT_EQ(required.tokens_needed(required.progress(Tokens{7})), 0);
}

TEST(RequiredPhrases, SomeNextTokenAlwaysLowersTheNeed) {
  Random random(2);
  const auto draw = [&](int most) {
    Tokens tokens(1 + random.below(most));
    for (int& token : tokens) token = static_cast<int>(random.below(4));
    return tokens;
  };
  for (int trial = 0; trial < 2000; ++trial) {
    const RequiredPhrases required({{draw(4), draw(4)}, {draw(4)}, {draw(4)}});
    RequiredPhrases::Progress progress = required.progress(draw(8));
    for (int needed = required.tokens_needed(progress); needed > 0;
         needed = required.tokens_needed(progress)) {
      const Tokens next = required.next_tokens(progress);
      const auto lower = std::find_if(next.begin(), next.end(), [&](int token) {
        return required.tokens_needed(required.after(progress, token)) < needed;
      });
      ASSERT_NE(lower, next.end());
      progress = required.after(progress, *lower);
    }
  }
}

}  // namespace
}  // namespace filigree::translate
