#include "filigree/text/utf8.h"

#include <unicode/utf8.h>

#include <cstdint>

namespace filigree::text {

std::optional<size_t> find_invalid_utf8(std::string_view text) {
  const char* data = text.data();
  const int64_t size = static_cast<int64_t>(text.size());
  for (int64_t i = 0; i < size;) {
    const int64_t begin = i;
    UChar32 character;
    U8_NEXT(data, i, size, character);
    if (character < 0) return static_cast<size_t>(begin);
  }
  return std::nullopt;
}

std::string replace_invalid_utf8(std::string_view text) {
  const char* data = text.data();
  const int64_t size = static_cast<int64_t>(text.size());
  std::string valid;
  for (int64_t i = 0; i < size;) {
    const int64_t begin = i;
    UChar32 character;
    U8_NEXT(data, i, size, character);
    valid += character > 0 ? text.substr(begin, i - begin) : "\xEF\xBF\xBD";
  }
  return valid;
}

}  // namespace filigree::text
