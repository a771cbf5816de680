#include "filigree/evaluate/unicode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace filigree::evaluate {
namespace {

using testing::ElementsAre;

TEST(Unicode, DecodesAndEncodesEveryLengthOfSequence) {
  const std::string text = "aß€😀";
  EXPECT_EQ(decode_utf8(text), U"aß€😀");
  EXPECT_EQ(encode_utf8(U"aß€😀"), text);
}

TEST(Unicode, IllFormedBytesBecomeReplacementCharacters) {
  EXPECT_EQ(decode_utf8("a\xff"
                        "b"),
            U"a\uFFFDb");
  EXPECT_EQ(decode_utf8("a\xe2\x82"), U"a\uFFFD");
}

TEST(Unicode, SurrogatesOverlongAndCutSequencesAreNotValid) {
  EXPECT_TRUE(is_valid_utf8("Größe \xF0\x9F\x98\x80"));
  EXPECT_TRUE(is_valid_utf8(""));
  EXPECT_FALSE(is_valid_utf8("\xED\xA0\x80"));
  EXPECT_FALSE(is_valid_utf8("\xC0\xAF"));
  EXPECT_FALSE(is_valid_utf8("x\xE2\x82"));
  EXPECT_FALSE(
      is_valid_utf8("Gr\xF6\xDF"
                    "e"));
}

TEST(Unicode, WhiteSpaceIsThatOfPython) {
  std::u32string spaces;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (is_space(c)) spaces += c;
  }
  EXPECT_EQ(spaces,
            U"\u0009\u000a\u000b\u000c\u000d\u001c\u001d\u001e\u001f\u0020\u0085\u00a0\u1680"
            U"\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029"
            U"\u202f\u205f\u3000");
}

TEST(Unicode, SigmaIsFinalOnlyAtTheEndOfAWord) {
  EXPECT_EQ(lower_case(U"ΟΔΥΣΣΕΥΣ ΣΑΣ."), U"οδυσσευς σας.");
  EXPECT_EQ(lower_case(U"Σ"), U"σ");
}

TEST(Unicode, DottedCapitalIBecomesTwoCodePoints) { EXPECT_EQ(lower_case(U"İI"), U"i\u0307i"); }

TEST(Unicode, LowerCasesBeyondTheBasicPlane) { EXPECT_EQ(lower_case(U"𐐀ẞ"), U"𐐨ß"); }

TEST(Unicode, SplitsAtRunsOfWhiteSpace) {
  EXPECT_THAT(split(U"  a\u00a0\tbc\u3000d "), ElementsAre(U"a", U"bc", U"d"));
  EXPECT_TRUE(split(U" \u2028 ").empty());
  EXPECT_THAT(split(U"a\u200bb"), ElementsAre(U"a\u200bb"));
}

TEST(Unicode, StripsWhiteSpaceAtTheEnds) {
  EXPECT_EQ(strip(U"\u3000a b\u0085\r"), U"a b");
  EXPECT_EQ(strip_end(U" a \n"), U" a");
  EXPECT_EQ(strip(U" \t"), U"");
}

}  // namespace
}  // namespace filigree::evaluate
