#include "filigree/evaluate/unicode.h"

#include <unicode/locid.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

namespace filigree::evaluate {
namespace {

// Calls use(code point) for each one, negative where the bytes are ill-formed.
template <typename Use>
void for_each_code_point(std::string_view text, Use use) {
  const auto length = static_cast<int64_t>(text.size());
  for (int64_t i = 0; i < length;) {
    UChar32 c;
    U8_NEXT(text.data(), i, length, c);
    use(c);
  }
}

}  // namespace

bool is_valid_utf8(std::string_view text) {
  bool valid = true;
  for_each_code_point(text, [&](UChar32 c) { valid = valid && c >= 0; });
  return valid;
}

std::u32string decode_utf8(std::string_view text) {
  std::u32string points;
  points.reserve(text.size());
  for_each_code_point(text, [&](UChar32 c) { points += c < 0 ? U'\uFFFD' : char32_t(c); });
  return points;
}

std::string encode_utf8(std::u32string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (const char32_t c : text) {
    char buffer[U8_MAX_LENGTH];
    int length = 0;
    U8_APPEND_UNSAFE(buffer, length, c);
    bytes.append(buffer, length);
  }
  return bytes;
}

bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

std::u32string lower_case(std::u32string_view text) {
  auto utf16 = icu::UnicodeString::fromUTF32(reinterpret_cast<const UChar32*>(text.data()),
                                             static_cast<int32_t>(text.size()));
  utf16.toLower(icu::Locale::getRoot());
  std::u32string points(utf16.countChar32(), U'\0');
  UErrorCode status = U_ZERO_ERROR;
  utf16.toUTF32(reinterpret_cast<UChar32*>(points.data()), static_cast<int32_t>(points.size()),
                status);
  return points;
}

std::u32string_view strip_end(std::u32string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::u32string_view strip(std::u32string_view text) {
  text = strip_end(text);
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return text;
}

std::vector<std::u32string_view> split(std::u32string_view text) {
  std::vector<std::u32string_view> words;
  for (size_t i = 0; i < text.size();) {
    if (is_space(text[i])) {
      ++i;
      continue;
    }
    const size_t begin = i;
    while (i < text.size() && !is_space(text[i])) ++i;
    words.push_back(text.substr(begin, i - begin));
  }
  return words;
}

}  // namespace filigree::evaluate
