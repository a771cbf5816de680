#include "filigree/text/words.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>

namespace filigree::text {
namespace {

bool is_separator(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Code points that begin before each byte, and in the whole text.
std::vector<size_t> code_points_before(std::string_view text) {
  std::vector<size_t> before(text.size() + 1);
  for (size_t i = 0; i < text.size(); ++i) {
    const bool continues = (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80;
    before[i + 1] = before[i] + !continues;
  }
  return before;
}

}  // namespace

std::vector<Range> words_of(std::string_view text) {
  std::vector<Range> words;
  for (size_t i = 0; i < text.size();) {
    if (is_separator(text[i])) {
      ++i;
      continue;
    }
    const size_t begin = i;
    while (i < text.size() && !is_separator(text[i])) ++i;
    words.push_back({begin, i});
  }
  return words;
}

std::vector<Range> words_of_pieces(std::span<const Range> words, std::span<const Range> pieces) {
  std::vector<Range> found;
  for (const Range& piece : pieces) {
    const auto ends_by = [](const Range& word, size_t place) { return word.end <= place; };
    auto first = std::lower_bound(words.begin(), words.end(), piece.begin, ends_by);
    auto last = first;
    while (last != words.end() && last->begin < piece.end) ++last;
    if (first == last) {
      first = std::lower_bound(words.begin(), words.end(), piece.end, ends_by);
      last = first == words.end() ? first : first + 1;
    }
    found.push_back(
        {static_cast<size_t>(first - words.begin()), static_cast<size_t>(last - words.begin())});
  }
  return found;
}

Range trim(std::string_view text, Range range) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(text.data());
  while (range.begin < range.end) {
    auto next = static_cast<int32_t>(range.begin);
    UChar32 character;
    U8_NEXT_OR_FFFD(bytes, next, static_cast<int32_t>(range.end), character);
    if (!u_isUWhiteSpace(character)) break;
    range.begin = static_cast<size_t>(next);
  }
  while (range.begin < range.end) {
    auto previous = static_cast<int32_t>(range.end);
    UChar32 character;
    U8_PREV_OR_FFFD(bytes, static_cast<int32_t>(range.begin), previous, character);
    if (!u_isUWhiteSpace(character)) break;
    range.end = static_cast<size_t>(previous);
  }
  return range;
}

std::vector<Range> in_code_points(std::string_view text, std::span<const Range> ranges) {
  const std::vector<size_t> before = code_points_before(text);
  std::vector<Range> counted;
  for (const Range& range : ranges) counted.push_back({before[range.begin], before[range.end]});
  return counted;
}

}  // namespace filigree::text
