#include "filigree/text/script.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/utf8.h>

#include <algorithm>

#include "filigree/base/error.h"

namespace filigree::text {
namespace {

// ISO 15924 has codes for languages that mix scripts; no character has such a code itself.
std::vector<int> parts_of(int code) {
  switch (code) {
    case USCRIPT_JAPANESE:
      return {USCRIPT_HIRAGANA, USCRIPT_KATAKANA, USCRIPT_HAN};
    case USCRIPT_KATAKANA_OR_HIRAGANA:
      return {USCRIPT_HIRAGANA, USCRIPT_KATAKANA};
    case USCRIPT_KOREAN:
      return {USCRIPT_HANGUL, USCRIPT_HAN};
    case USCRIPT_SIMPLIFIED_HAN:
    case USCRIPT_TRADITIONAL_HAN:
      return {USCRIPT_HAN};
    case USCRIPT_HAN_WITH_BOPOMOFO:
      return {USCRIPT_HAN, USCRIPT_BOPOMOFO};
    default:
      return {code};
  }
}

}  // namespace

Script::Script(const std::string& name) {
  const int code = u_getPropertyValueEnum(UCHAR_SCRIPT, name.c_str());
  if (code == UCHAR_INVALID_CODE) {
    throw UsageError("\"{}\" is not a script; give Unicode's name or code, such as Latin or Cyrl",
                     name);
  }
  codes_ = parts_of(code);
}

double Script::share_in(std::string_view text) const {
  int64_t letters = 0, expected = 0;
  const auto size = static_cast<int64_t>(text.size());
  for (int64_t i = 0; i < size;) {
    UChar32 character;
    U8_NEXT(text.data(), i, size, character);
    if (character < 0 || !u_isalpha(character)) continue;
    // Some letters serve several scripts: ー is written with Hiragana and with Katakana.
    const bool in_script = std::any_of(codes_.begin(), codes_.end(), [&](int code) {
      return uscript_hasScript(character, static_cast<UScriptCode>(code));
    });
    UErrorCode status = U_ZERO_ERROR;
    const UScriptCode own = uscript_getScript(character, &status);
    if (!in_script && (own == USCRIPT_COMMON || own == USCRIPT_INHERITED)) continue;
    ++letters;
    expected += in_script;
  }
  return letters == 0 ? 1 : static_cast<double>(expected) / static_cast<double>(letters);
}

}  // namespace filigree::text
