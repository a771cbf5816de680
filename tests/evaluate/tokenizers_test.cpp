#include "filigree/evaluate/tokenizers.h"

#include <gtest/gtest.h>

#include "filigree/base/error.h"

namespace filigree::evaluate {
namespace {

std::string tokens_13a(std::string_view text) { return tokenize(text, Tokenizer::k13a); }
std::string tokens_intl(std::string_view text) { return tokenize(text, Tokenizer::kInternational); }
std::string tokens_zh(std::string_view text) { return tokenize(text, Tokenizer::kChinese); }

TEST(Tokenizer13a, SplitsPunctuationFromWords) {
  EXPECT_EQ(tokens_13a("Hello, world (again)!"), "Hello , world ( again ) !");
  EXPECT_EQ(tokens_13a("don't"), "don't");
  EXPECT_EQ(tokens_13a("a/b=c"), "a / b = c");
}

TEST(Tokenizer13a, KeepsPointAndCommaBetweenDigits) {
  EXPECT_EQ(tokens_13a("1.234,56 and 7, 8."), "1.234,56 and 7 , 8 .");
  EXPECT_EQ(tokens_13a("in 2019."), "in 2019 .");
}

TEST(Tokenizer13a, SplitsAHyphenAfterADigitOnly) {
  EXPECT_EQ(tokens_13a("10-20 well-known -5"), "10 - 20 well-known -5");
}

TEST(Tokenizer13a, MatchesDoNotOverlap) {
  EXPECT_EQ(tokens_13a("wait..."), "wait . . .");
  EXPECT_EQ(tokens_13a("U.S.A."), "U . S . A .");
}

TEST(Tokenizer13a, UndoesFourEntitiesInOrder) {
  EXPECT_EQ(tokens_13a("&quot;a&quot; &amp; b &lt;c&gt;"), "\" a \" & b < c >");
  EXPECT_EQ(tokens_13a("&amp;lt;"), "<");
  EXPECT_EQ(tokens_13a("&apos;"), "& apos ;");
}

TEST(Tokenizer13a, DropsSkippedMarksAndJoinsLines) {
  EXPECT_EQ(tokens_13a("a <skipped> b"), "a b");
  EXPECT_EQ(tokens_13a("to-\nday and\nnow"), "today and now");
}

TEST(Tokenizer13a, LeavesPunctuationOutsideAsciiAlone) {
  EXPECT_EQ(tokens_13a("„So“ – sagt’s…"), "„So“ – sagt’s…");
}

TEST(Tokenizer13a, AnEmptySegmentHasNoTokens) {
  EXPECT_EQ(tokens_13a(""), "");
  EXPECT_EQ(tokens_13a(" \u3000"), "");
}

TEST(TokenizerIntl, SplitsUnicodePunctuationAndSymbols) {
  EXPECT_EQ(tokens_intl("„So“ kostet 5€."), "„ So “ kostet 5 € .");
  EXPECT_EQ(tokens_intl("a+b=c"), "a + b = c");
}

TEST(TokenizerIntl, KeepsAFinalPointOnANumber) {
  EXPECT_EQ(tokens_intl("im Jahr 2019."), "im Jahr 2019.");
  EXPECT_EQ(tokens_intl("1.234,56"), "1.234,56");
}

TEST(TokenizerIntl, UndoesNoEntity) { EXPECT_EQ(tokens_intl("&quot;"), "& quot ;"); }

TEST(TokenizerZh, SplitsChineseCharactersAndTokenizesTheRest) {
  EXPECT_EQ(tokens_zh("我爱BLEU,你呢？"), "我 爱 BLEU , 你 呢 ？");
}

TEST(TokenizerZh, TakesPunctuationFromU2001OnForChinese) {
  EXPECT_EQ(tokens_zh("a€b“c”"), "a € b “ c ”");
  EXPECT_EQ(tokens_zh("a\u2a6db\u2a6ec"), "a \u2a6d b\u2a6ec");
}

TEST(TokenizerZh, DoesNotTakeExtensionBForChinese) {
  EXPECT_EQ(tokens_zh("\U00020000\U00020001"), "\U00020000\U00020001");
}

TEST(TokenizerChar, JoinsAllCharactersBySpaces) {
  EXPECT_EQ(tokenize("ab ß", Tokenizer::kCharacter), "a b   ß");
}

TEST(TokenizerNone, OnlyDropsWhiteSpaceAtTheEnd) {
  EXPECT_EQ(tokenize("  a ,b \u00a0", Tokenizer::kNone), "  a ,b");
}

TEST(Tokenizer, LowerCasesFirstWhenAsked) {
  EXPECT_EQ(tokenize("ÄPFEL &AMP; Σ", Tokenizer::k13a, true), "äpfel & σ");
}

TEST(Tokenizer, NamesGoBothWays) {
  for (const auto* name : {"13a", "intl", "char", "zh", "none"}) {
    EXPECT_EQ(to_string(tokenizer_from_name(name)), name);
  }
}

TEST(Tokenizer, UnknownNameListsTheKnownOnes) {
  try {
    tokenizer_from_name("moses");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "unknown tokenizer 'moses': use 13a, intl, char, zh or none");
  }
}

}  // namespace
}  // namespace filigree::evaluate
