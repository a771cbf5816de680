#include "filigree/translate/spacing.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/utf8.h>

#include <cstdint>

namespace filigree::translate {

bool written_without_spaces(char32_t character) {
  const auto c = static_cast<UChar32>(character);
  const int width = u_getIntPropertyValue(c, UCHAR_EAST_ASIAN_WIDTH);
  UErrorCode status = U_ZERO_ERROR;
  return (width == U_EA_WIDE || width == U_EA_FULLWIDTH) &&
         uscript_getScript(c, &status) != USCRIPT_HANGUL;
}

char32_t first_character(std::string_view text) {
  int64_t begin = 0;
  UChar32 character = 0xFFFD;
  if (!text.empty()) U8_NEXT_OR_FFFD(text.data(), begin, int64_t(text.size()), character);
  return static_cast<char32_t>(character);
}

char32_t last_character(std::string_view text) {
  auto end = static_cast<int32_t>(text.size());
  UChar32 character = 0xFFFD;
  if (!text.empty()) U8_PREV_OR_FFFD(text.data(), 0, end, character);
  return static_cast<char32_t>(character);
}

std::string_view leading_blanks(std::string_view text) {
  const auto size = static_cast<int64_t>(text.size());
  int64_t end = 0;
  for (int64_t next = 0; next < size; end = next) {
    UChar32 character;
    U8_NEXT(text.data(), next, size, character);
    if (character < 0 || !u_isUWhiteSpace(character)) break;
  }
  return text.substr(0, end);
}

}  // namespace filigree::translate
