#include "filigree/inspect/tokens.h"

#include <gmock/gmock.h>

#include "tests/inspect/random_attention.h"

namespace filigree::inspect {
namespace {

using testing::ElementsAre;

TEST(Tokens, PunctuationAtTheEdgesOfAWordStandsAlone) {
  const Tokens t = source_of("_( well - known ) _cat s .");
  EXPECT_THAT(t.words, ElementsAre("(", "well-known", ")", "cats", "."));
  EXPECT_THAT(t.word, ElementsAre(0, 1, 1, 1, 2, 3, 3, 4, -1));
  EXPECT_THAT(t.space_word, ElementsAre(0, 0, 0, 0, 0, 1, 1, 1, -1));
  EXPECT_THAT(t.mark, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 1));
  EXPECT_THAT(t.punctuation, ElementsAre(1, 0, 1, 0, 1, 0, 0, 1, 0));
}

TEST(Tokens, ATargetStartsWithItsMark) {
  const Tokens t = target_of("_ein _Haus");
  EXPECT_THAT(t.pieces, ElementsAre("<s>", "▁ein", "▁Haus"));
  EXPECT_THAT(t.word, ElementsAre(-1, 0, 1));
}

TEST(Tokens, AQuestionIsAQuestionWordAndAMarkAtTheEnd) {
  const Tokens asks = source_of("_Wh at _is _it ?");
  EXPECT_EQ(asks.question_mark, 4);
  EXPECT_THAT(asks.interrogative, ElementsAre(1, 1, 0, 0, 0, 0));
  EXPECT_EQ(source_of("_What _is ? _This .").question_mark, -1);
}

TEST(Tokens, TheTwoRarestWordsAreMarkedWithAllTheirPieces) {
  WordCounts counts;
  Tokens t = source_of("_a _zeb ra _a _b _b _yak .");
  counts.add(t);
  mark_rare_words(t, counts);
  EXPECT_THAT(t.rare, ElementsAre(0, 1, 1, 0, 0, 0, 1, 0, 0));
  Tokens two_words = source_of("_a _zeb ra .");
  mark_rare_words(two_words, counts);
  EXPECT_THAT(two_words.rare, testing::Each(false));
}

}  // namespace
}  // namespace filigree::inspect
