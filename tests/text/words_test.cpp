#include "filigree/text/words.h"

#include <gmock/gmock.h>

#include <string>

#include "filigree/text/tokenizer.h"
#include "tests/text/small_text.h"

namespace filigree::text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string part(const std::string& text, Range range) {
  return text.substr(range.begin, range.end - range.begin);
}

/// The texts that pieces stand for, without space around them.
std::vector<std::string> surfaces(const PlacedPieces& pieces) {
  std::vector<std::string> texts;
  for (const Range& place : pieces.places)
    texts.push_back(part(pieces.text, trim(pieces.text, place)));
  return texts;
}

/// A tokenizer with few pieces but these characters, and bytes for those it does not know.
Tokenizer character_tokenizer(const std::string& characters) {
  std::vector<std::string> lines(20, characters);
  return train_tokenizer(
      lines, {.vocab_size = 290 + static_cast<int>(characters.size()), .byte_fallback = true});
}

TEST(Words, LieBetweenAsciiSpaces) {
  EXPECT_THAT(words_of("  a bc\t d\r"), ElementsAre(Range{2, 3}, Range{4, 6}, Range{8, 9}));
  EXPECT_THAT(words_of("a\u00a0b"), ElementsAre(Range{0, 4}));
  EXPECT_THAT(words_of(" \t"), IsEmpty());
  EXPECT_THAT(words_of(""), IsEmpty());
}

TEST(WordsOfPieces, AreThoseThatAPieceOverlaps) {
  const std::string text = "ab cd  e";  // words 0-2, 3-5, 7-8
  const std::vector<Range> words = words_of(text);
  const std::vector<Range> pieces = {{0, 1}, {1, 2}, {2, 5}, {1, 4}, {0, 8}};
  EXPECT_THAT(words_of_pieces(words, pieces),
              ElementsAre(Range{0, 1}, Range{0, 1}, Range{1, 2}, Range{0, 2}, Range{0, 3}));
}

TEST(WordsOfPieces, GiveAPieceOfSpaceToTheWordBehindIt) {
  const std::string text = " ab cd ";  // words 1-3, 4-6
  const std::vector<Range> pieces = {{0, 0}, {0, 1}, {3, 4}, {4, 4}, {5, 5}, {6, 7}, {7, 7}};
  EXPECT_THAT(words_of_pieces(words_of(text), pieces),
              ElementsAre(Range{0, 1}, Range{0, 1}, Range{1, 2}, Range{1, 2}, Range{1, 2},
                          Range{2, 2}, Range{2, 2}));
}

TEST(Trim, DropsUnicodeSpaceAtBothEnds) {
  const std::string text = "\u3000 é\u00a0";
  EXPECT_EQ(part(text, trim(text, {0, text.size()})), "é");
  EXPECT_EQ(trim(" \t ", {0, 3}), (Range{3, 3}));
}

TEST(CodePoints, CountAsPythonDoes) {
  const std::string text = "aé漢😀e\u0301";
  const std::vector<Range> ranges = {{0, 1}, {1, 3}, {3, 6}, {6, 10}, {10, text.size()}};
  EXPECT_THAT(in_code_points(text, ranges),
              ElementsAre(Range{0, 1}, Range{1, 2}, Range{2, 3}, Range{3, 4}, Range{4, 6}));
}

TEST(Places, CoverTheLineAsItWasGiven) {
  const Tokenizer& tokenizer = test::small_tokenizer();
  for (std::string line : test::small_text()) {
    line = "  " + line + " ";
    const PlacedPieces pieces = tokenizer.encode_with_places(line);
    EXPECT_EQ(pieces.ids, tokenizer.encode(line));
    std::string joined;
    for (const std::string& surface : surfaces(pieces)) joined += surface;
    std::string expected = line;
    std::erase(expected, ' ');
    EXPECT_EQ(joined, expected);
  }
}

TEST(Places, AreThoseOfCharactersBeforeNormalisation) {
  const Tokenizer tokenizer = character_tokenizer("e é f i x");
  // A letter with a combining accent becomes one character, a ligature becomes two, full-width
  // letters become plain ones and an ideographic space a space.
  const std::string line = "e\u0301\u3000\uFB01ｘ";
  const PlacedPieces pieces = tokenizer.encode_with_places(line);
  EXPECT_THAT(surfaces(pieces), ElementsAre("e\u0301", "", "\uFB01", "ｘ"));
}

TEST(Places, OfBytesAreTheirCharacters) {
  const Tokenizer tokenizer = character_tokenizer("a b");
  const std::string line = "a 漢b";
  const PlacedPieces pieces = tokenizer.encode_with_places(line);
  EXPECT_THAT(surfaces(pieces), ElementsAre("a", "", "", "", "漢", "b"));
  EXPECT_THAT(
      words_of_pieces(words_of(line), pieces.places),
      ElementsAre(Range{0, 1}, Range{1, 2}, Range{1, 2}, Range{1, 2}, Range{1, 2}, Range{1, 2}));
  const PlacedPieces decoded = tokenizer.decode_with_places(pieces.ids);
  EXPECT_EQ(decoded.text, line);
  EXPECT_THAT(surfaces(decoded), ElementsAre("a", "", "", "", "漢", "b"));
}

TEST(Places, OfDecodedTextAreThoseInIt) {
  const Tokenizer& tokenizer = test::small_tokenizer();
  for (const std::string& line : test::small_text()) {
    std::vector<int> ids = tokenizer.encode(line);
    ids.insert(ids.begin() + 1, kPad);
    ids.push_back(kEos);
    const PlacedPieces pieces = tokenizer.decode_with_places(ids);
    EXPECT_EQ(pieces.text, line);
    ASSERT_EQ(pieces.places.size(), ids.size());
    EXPECT_EQ(surfaces(pieces).at(1), "");
    EXPECT_EQ(surfaces(pieces).back(), "");
    std::string joined, expected = line;
    for (const Range& place : pieces.places) joined += part(pieces.text, place);
    EXPECT_EQ(joined, expected);
  }
}

TEST(Places, OfAnUnknownPieceAreItsMark) {
  const Tokenizer& tokenizer = test::small_tokenizer();
  const PlacedPieces pieces = tokenizer.decode_with_places({kUnk, kUnk});
  EXPECT_THAT(surfaces(pieces), ElementsAre("⁇", "⁇"));
}

}  // namespace
}  // namespace filigree::text
