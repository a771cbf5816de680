#include "filigree/text/spell_out.h"

#include <gmock/gmock.h>

#include "tests/text/matchers.h"

namespace filigree::text {
namespace {

constexpr int64_t kFriday = 14'043;    // 13 June 2008
constexpr int64_t kThursday = 17'955;  // 28 February 2019
constexpr int64_t kOld = -25'567;      // 1 January 1900

TEST(SpellOut, English) {
  const SpellOut english("en");
  EXPECT_EQ(english.number(0), "zero");
  EXPECT_EQ(english.number(342), "three hundred forty-two");
  EXPECT_EQ(english.number(999'999), "nine hundred ninety-nine thousand nine hundred ninety-nine");
  EXPECT_EQ(english.date(kFriday), "Friday, June 13, 2008");
  EXPECT_EQ(english.date(kOld), "Monday, January 1, 1900");
}

TEST(SpellOut, GermanHasNoSoftHyphens) {
  const SpellOut german("de");
  EXPECT_EQ(german.number(342), "dreihundertzweiundvierzig");
  EXPECT_EQ(german.number(201'001), "zweihunderteintausendeins");
  EXPECT_EQ(german.date(kFriday), "Freitag, 13. Juni 2008");
  EXPECT_EQ(german.date(kOld), "Montag, 1. Januar 1900");
}

TEST(SpellOut, Japanese) {
  const SpellOut japanese("ja");
  EXPECT_EQ(japanese.number(342), "三百四十二");
  EXPECT_EQ(japanese.number(342'108), "三十四万二千百八");
  EXPECT_EQ(japanese.date(kFriday), "2008年6月13日金曜日");
}

TEST(SpellOut, RomanianHasCommasBelowInNumbersAndDates) {
  const SpellOut romanian("ro");
  EXPECT_EQ(romanian.number(17), "șaptesprezece");
  EXPECT_EQ(romanian.number(342), "trei sute patruzeci și doi");
  EXPECT_EQ(romanian.date(kFriday), "vineri, 13 iunie 2008");
  EXPECT_EQ(romanian.date(kThursday - 2), "marți, 26 februarie 2019");
}

TEST(SpellOut, UnknownLanguageIsAnError) {
  EXPECT_THROWS(SpellOut("xx"), Error, "ICU has no rules for the language 'xx'");
}

}  // namespace
}  // namespace filigree::text
