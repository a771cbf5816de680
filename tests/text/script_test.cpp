#include "filigree/text/script.h"

#include <gmock/gmock.h>

#include "tests/text/matchers.h"

namespace filigree::text {
namespace {

TEST(Script, ShareIsOverLettersOnly) {
  const Script latin("Latin");
  EXPECT_EQ(latin.share_in("Straße, 12 km: ☺!"), 1);
  EXPECT_EQ(latin.share_in("Привет"), 0);
  EXPECT_DOUBLE_EQ(latin.share_in("abcд 1234567"), 0.75);
  EXPECT_EQ(latin.share_in("e\u0301te\u0301"), 1);  // accents as marks of their own
}

TEST(Script, TextWithoutLettersFits) {
  EXPECT_EQ(Script("Latin").share_in("12:30 — 45 %"), 1);
  EXPECT_EQ(Script("Latin").share_in(""), 1);
  EXPECT_EQ(Script("Cyrillic").share_in("𝛼 + 𝛽"), 1);  // mathematical letters have no script
}

TEST(Script, NamesAndCodesAreTheSame) {
  for (const char* name : {"Cyrillic", "Cyrl", "cyrillic", "CYRL"}) {
    EXPECT_EQ(Script(name).share_in("Привет"), 1) << name;
  }
}

TEST(Script, JapaneseAndKoreanMixScripts) {
  EXPECT_EQ(Script("Jpan").share_in("東京のラーメンは美味しい"), 1);  // ー serves two scripts
  EXPECT_EQ(Script("Kore").share_in("한국어 韓國"), 1);
  EXPECT_EQ(Script("Jpan").share_in("한국어"), 0);
  EXPECT_EQ(Script("Hans").share_in("简体"), 1);
  EXPECT_LT(Script("Han").share_in("東京のラーメン"), 0.5);
}

TEST(Script, UnknownNamesAreUsageErrors) {
  EXPECT_THROWS(Script("Klingonic"), UsageError,
                "\"Klingonic\" is not a script; give Unicode's name or code, such as Latin or "
                "Cyrl");
}

}  // namespace
}  // namespace filigree::text
