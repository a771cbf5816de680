#include "filigree/translate/target_text.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "filigree/base/error.h"
#include "filigree/translate/spacing.h"

namespace filigree::translate {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using testing::ThrowsMessage;
using Tokens = std::vector<int>;

text::Tokenizer tokenizer_of(const std::vector<std::string>& text, int size,
                             bool byte_fallback = false) {
  std::vector<std::string> lines;
  for (int i = 0; i < 20; ++i) lines.insert(lines.end(), text.begin(), text.end());
  text::TokenizerOptions options;
  options.vocab_size = size;
  options.byte_fallback = byte_fallback;
  return text::train_tokenizer(lines, options);
}

text::Tokenizer english(bool byte_fallback = false) {
  return tokenizer_of({"the quick brown fox (brown) jumps over the lazy dog.",
                       "his own brother owns a crown, and the fox owns him."},
                      byte_fallback ? 340 : 80, byte_fallback);
}

text::Tokenizer japanese() {
  return tokenizer_of({"黒い猫が好きです。", "猫は黒い。", "the cat"}, 40);
}

/// Every sequence of pieces that spells `rest`.
void cut_in_every_way(const text::Tokenizer& tokenizer, const std::string& rest, Tokens tokens,
                      std::vector<Tokens>& all) {
  if (rest.empty()) return all.push_back(tokens);
  for (int id = 4; id < tokenizer.size(); ++id) {
    const std::string piece = tokenizer.piece(id);
    if (!rest.starts_with(piece)) continue;
    tokens.push_back(id);
    cut_in_every_way(tokenizer, rest.substr(piece.size()), tokens, all);
    tokens.pop_back();
  }
}

TEST(BannedPhrases, AreFoundHoweverTheyAreCut) {
  const text::Tokenizer tokenizer = english();
  const std::string phrases[] = {"brown fox"};
  const PhraseGraph graph = TargetText(tokenizer).banned(phrases);
  std::vector<Tokens> all;
  cut_in_every_way(tokenizer, "▁brown▁fox", {}, all);
  ASSERT_GT(all.size(), 10u);
  for (const Tokens& tokens : all) EXPECT_TRUE(graph.occurs_in(tokens));
  EXPECT_TRUE(graph.occurs_in(tokenizer.encode("the brown fox jumps")));
  EXPECT_TRUE(graph.occurs_in(tokenizer.encode("(brown fox)")));
  EXPECT_FALSE(graph.occurs_in(tokenizer.encode("the brown dog, the fox")));
}

TEST(BannedPhrases, BeginWithAWord) {
  const text::Tokenizer tokenizer = english();
  const std::string phrases[] = {"own"};
  const PhraseGraph graph = TargetText(tokenizer).banned(phrases);
  std::vector<Tokens> inside;
  cut_in_every_way(tokenizer, "▁brown", {}, inside);
  for (const Tokens& tokens : inside) EXPECT_FALSE(graph.occurs_in(tokens));
  for (const char* text : {"his own brother", "own", "(own"}) {
    EXPECT_TRUE(graph.occurs_in(tokenizer.encode(text))) << text;
  }
}

TEST(BannedPhrases, BeginAnywhereInAScriptWithoutSpaces) {
  const text::Tokenizer tokenizer = japanese();
  const std::string phrases[] = {"猫"};
  const PhraseGraph graph = TargetText(tokenizer).banned(phrases);
  std::vector<Tokens> all;
  cut_in_every_way(tokenizer, "▁黒い猫", {}, all);
  // Not where the phrase is only a part of a piece.
  std::erase_if(all, [&](const Tokens& tokens) { return tokenizer.piece(tokens.back()) != "猫"; });
  ASSERT_THAT(all, testing::Not(IsEmpty()));
  for (const Tokens& tokens : all) EXPECT_TRUE(graph.occurs_in(tokens));
}

TEST(BannedPhrases, WithoutPiecesForThemAreLeftOut) {
  const std::string phrases[] = {"Ωμέγα", " "};
  const PhraseGraph graph = TargetText(english()).banned(phrases);
  EXPECT_FALSE(graph.occurs_in(english().encode("the fox")));
}

TEST(RequiredText, IsWrittenAfterASpace) {
  const text::Tokenizer tokenizer = english();
  const RequiredPhrase ways = TargetText(tokenizer).required("brown fox");
  ASSERT_THAT(ways, SizeIs(1));
  EXPECT_EQ(ways[0], tokenizer.encode("brown fox"));
}

TEST(RequiredText, IsAlsoWrittenInsideATextOfAScriptWithoutSpaces) {
  const text::Tokenizer tokenizer = japanese();
  const RequiredPhrase ways = TargetText(tokenizer).required("猫が");
  ASSERT_THAT(ways, SizeIs(2));
  for (const Tokens& way : ways) EXPECT_EQ(tokenizer.decode(way), "猫が");
  EXPECT_THAT(tokenizer.piece(ways[0][0]), StartsWith("▁"));
  EXPECT_THAT(tokenizer.piece(ways[1][0]), testing::Not(StartsWith("▁")));
}

TEST(RequiredText, MustBeSpeltByThePieces) {
  const TargetText text(english());
  EXPECT_THAT([&] { text.required("Ωμέγα"); }, ThrowsMessage<Error>(HasSubstr("Ωμέγα")));
  EXPECT_THAT([&] { text.required(" "); }, ThrowsMessage<Error>(HasSubstr("blank")));
}

TEST(TargetPrefix, GoesOnInsideAWord) {
  const text::Tokenizer tokenizer = english();
  const TargetText::Prefix prefix = TargetText(tokenizer).prefix("the bro");
  ASSERT_THAT(prefix.next, testing::Not(IsEmpty()));
  for (const int token : prefix.next) {
    Tokens tokens = prefix.tokens;
    tokens.push_back(token);
    EXPECT_THAT(tokenizer.decode(tokens), StartsWith("the bro"));
  }
  Tokens canonical = prefix.tokens;
  canonical.push_back(prefix.next.front());
  EXPECT_EQ(canonical, tokenizer.encode("the bro"));
  // No other piece would do.
  const std::string last = tokenizer.piece(prefix.next.front());
  for (int id = 4; id < tokenizer.size(); ++id) {
    EXPECT_EQ(std::count(prefix.next.begin(), prefix.next.end(), id),
              tokenizer.piece(id).starts_with(last));
  }
}

TEST(TargetPrefix, EndsAWordWhenItEndsInASpace) {
  const text::Tokenizer tokenizer = english();
  const TargetText::Prefix prefix = TargetText(tokenizer).prefix("the fox ");
  EXPECT_EQ(prefix.tokens, tokenizer.encode("the fox"));
  EXPECT_EQ(prefix.next.front(), tokenizer.eos());
  ASSERT_GT(prefix.next.size(), 3u);
  for (size_t i = 1; i < prefix.next.size(); ++i) {
    EXPECT_THAT(tokenizer.piece(prefix.next[i]), StartsWith("▁"));
  }
}

TEST(TargetPrefix, OfBlanksIsNone) {
  const TargetText::Prefix prefix = TargetText(english()).prefix(" \t");
  EXPECT_THAT(prefix.tokens, IsEmpty());
  EXPECT_THAT(prefix.next, IsEmpty());
}

TEST(ByteFallback, WritesWhatThePiecesCannot) {
  const text::Tokenizer tokenizer = english(true);
  const TargetText text(tokenizer);
  const Tokens tokens = tokenizer.encode("the ñ");
  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), tokenizer.unk()), 0);
  EXPECT_EQ(tokenizer.decode(tokens), "the ñ");
  const TargetText::Prefix prefix = text.prefix("the ñ");
  EXPECT_EQ(prefix.tokens, tokens);
  EXPECT_THAT(prefix.next, IsEmpty());
  const std::string phrases[] = {"ñ"};
  const PhraseGraph graph = text.banned(phrases);
  EXPECT_TRUE(graph.occurs_in(tokens));
  EXPECT_FALSE(graph.occurs_in(tokenizer.encode("the ü")));
  EXPECT_EQ(text.required("ñ"), RequiredPhrase({tokenizer.encode("ñ")}));
}

TEST(ByteFallback, BytesThatAreNoCharacterBecomeReplacementCharacters) {
  const text::Tokenizer tokenizer = english(true);
  Tokens tokens = tokenizer.encode("ñ");
  tokens.pop_back();
  EXPECT_THAT(tokenizer.decode(tokens), HasSubstr("\uFFFD"));
}

TEST(Spacing, LeadingBlanksAreUnicodeWhiteSpace) {
  EXPECT_EQ(leading_blanks(" \t a b"), " \t ");
  EXPECT_EQ(leading_blanks("\u3000猫"), "\u3000");
  EXPECT_EQ(leading_blanks("  "), "  ");
  EXPECT_EQ(leading_blanks("a "), "");
  EXPECT_EQ(leading_blanks(""), "");
}

}  // namespace
}  // namespace filigree::translate
