#include "filigree/text/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace filigree::text {
namespace {

TEST(Utf8, AcceptsEveryLengthOfCharacter) {
  EXPECT_EQ(find_invalid_utf8(""), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), std::nullopt);
  EXPECT_EQ(find_invalid_utf8(std::string("a\0b", 3)), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("\xF4\x8F\xBF\xBF"), std::nullopt);  // U+10FFFF
}

TEST(Utf8, FindsTheFirstBadByte) {
  EXPECT_EQ(find_invalid_utf8("caf\xE9"), 3u);
  EXPECT_EQ(find_invalid_utf8("\x80"), 0u);
  EXPECT_EQ(find_invalid_utf8("\xC3\xA9 \xFF \xFE"), 3u);
}

TEST(Utf8, RefusesCharactersThatWereCutShort) {
  EXPECT_EQ(find_invalid_utf8("ab\xC3"), 2u);
  EXPECT_EQ(find_invalid_utf8("ab\xE2\x82"), 2u);
  EXPECT_EQ(find_invalid_utf8("ab\xF0\x9F\x98 cd"), 2u);
}

TEST(Utf8, RefusesOverlongFormsSurrogatesAndTooLargeValues) {
  EXPECT_EQ(find_invalid_utf8("\xC0\xAF"), 0u);
  EXPECT_EQ(find_invalid_utf8("\xE0\x80\xAF"), 0u);
  EXPECT_EQ(find_invalid_utf8("\xED\xA0\x80"), 0u);
  EXPECT_EQ(find_invalid_utf8("\xF4\x90\x80\x80"), 0u);
}

TEST(Utf8, ReplacesWhatIsNoCharacter) {
  EXPECT_EQ(replace_invalid_utf8("caf\xE9 \xC3\xA9"), "caf\uFFFD \u00E9");
  EXPECT_EQ(replace_invalid_utf8("\xE2\x82z"), "\uFFFDz");
  EXPECT_EQ(replace_invalid_utf8(std::string("a\0b", 3)), "a\uFFFDb");
  EXPECT_EQ(replace_invalid_utf8("\xFF\xFE"), "\uFFFD\uFFFD");
  EXPECT_EQ(replace_invalid_utf8(""), "");
}

}  // namespace
}  // namespace filigree::text
