#include "filigree/evaluate/tokenizers.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "filigree/base/error.h"
#include "filigree/evaluate/unicode.h"

namespace filigree::evaluate {
namespace {

constexpr std::pair<Tokenizer, std::string_view> kNames[] = {
    {Tokenizer::k13a, "13a"},        {Tokenizer::kInternational, "intl"},
    {Tokenizer::kCharacter, "char"}, {Tokenizer::kChinese, "zh"},
    {Tokenizer::kNone, "none"},
};

std::u32string join(const std::vector<std::u32string_view>& words) {
  std::u32string joined;
  for (const auto word : words) {
    if (!joined.empty()) joined += U' ';
    joined += word;
  }
  return joined;
}

void replace_all(std::u32string& text, std::u32string_view from, std::u32string_view to) {
  size_t position = 0;
  while ((position = text.find(from, position)) != std::u32string::npos) {
    text.replace(position, from.size(), to);
    position += to.size();
  }
}

// Rewrites each pair of neighbours (a, b) that matches, left to right and without overlap, as a
// regular expression of two classes would: "[a][b]" becomes left + a + middle + b + right.
template <typename First, typename Second>
std::u32string space_pairs(std::u32string_view text, First first, Second second,
                           std::u32string_view left, std::u32string_view middle,
                           std::u32string_view right) {
  std::u32string out;
  out.reserve(text.size() * 2);
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 < text.size() && first(text[i]) && second(text[i + 1])) {
      out.append(left).append(1, text[i]).append(middle).append(1, text[i + 1]).append(right);
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

// Sets every matching character apart.
template <typename Match>
std::u32string space_characters(std::u32string_view text, Match match) {
  std::u32string out;
  out.reserve(text.size() * 2);
  for (const char32_t c : text) {
    if (match(c)) {
      out.append(1, U' ').append(1, c).append(1, U' ');
    } else {
      out += c;
    }
  }
  return out;
}

bool is_ascii_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_point_or_comma(char32_t c) { return c == '.' || c == ','; }

// ASCII punctuation and symbols but for the apostrophe, comma, hyphen and point.
bool is_ascii_symbol(char32_t c) {
  return (c >= '!' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
         (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// The rules for Western languages that 13a and zh share.
std::u32string western(std::u32string_view text) {
  const auto not_digit = [](char32_t c) { return !is_ascii_digit(c); };
  std::u32string spaced = space_characters(text, is_ascii_symbol);
  spaced = space_pairs(spaced, not_digit, is_point_or_comma, U"", U" ", U" ");
  spaced = space_pairs(spaced, is_point_or_comma, not_digit, U" ", U" ", U"");
  spaced = space_pairs(
      spaced, is_ascii_digit, [](char32_t c) { return c == '-'; }, U"", U" ", U" ");
  return join(split(spaced));
}

std::u32string tokenize_13a(std::u32string_view segment) {
  std::u32string text(segment);
  replace_all(text, U"<skipped>", U"");
  replace_all(text, U"-\n", U"");
  replace_all(text, U"\n", U" ");
  // In this order, so that "&amp;lt;" ends as "<".
  replace_all(text, U"&quot;", U"\"");
  replace_all(text, U"&amp;", U"&");
  replace_all(text, U"&lt;", U"<");
  replace_all(text, U"&gt;", U">");
  return western(U" " + text + U" ");
}

std::u32string tokenize_international(std::u32string_view segment) {
  const auto in = [](char32_t c, uint32_t categories) {
    return (U_GET_GC_MASK(c) & categories) != 0;
  };
  const auto is_punctuation = [&](char32_t c) { return in(c, U_GC_P_MASK); };
  const auto is_symbol = [&](char32_t c) { return in(c, U_GC_S_MASK); };
  const auto not_number = [&](char32_t c) { return !in(c, U_GC_N_MASK); };
  std::u32string spaced = space_pairs(segment, not_number, is_punctuation, U"", U" ", U" ");
  spaced = space_pairs(spaced, is_punctuation, not_number, U" ", U" ", U"");
  return join(split(space_characters(spaced, is_symbol)));
}

std::u32string tokenize_characters(std::u32string_view segment) {
  std::u32string out;
  for (const char32_t c : segment) {
    if (!out.empty()) out += U' ';
    out += c;
  }
  return out;
}

// What sacreBLEU takes for Chinese. Its table means to list CJK extension B and the compatibility
// supplement, but as written they come out as U+2001…U+2A6D (which takes in curly quotes, dashes,
// arrows and the euro sign) and U+2F81…U+2FA1. Equal scores need equal ranges.
constexpr struct {
  char32_t first, last;
} kChineseRanges[] = {
    {0x2001, 0x2A6D}, {0x2E80, 0x2EFF}, {0x2F00, 0x2FDF}, {0x2FF0, 0x2FFF}, {0x3000, 0x303F},
    {0x3100, 0x312F}, {0x31A0, 0x31BF}, {0x31C0, 0x31EF}, {0x3200, 0x33FF}, {0x3400, 0x4DB5},
    {0x4E00, 0x9FBB}, {0xF900, 0xFA2D}, {0xFA30, 0xFA6A}, {0xFA70, 0xFAD9}, {0xFE10, 0xFE1F},
    {0xFE30, 0xFE4F}, {0xFF00, 0xFFEF},
};

bool is_chinese(char32_t c) {
  return std::any_of(std::begin(kChineseRanges), std::end(kChineseRanges),
                     [c](const auto& range) { return c >= range.first && c <= range.last; });
}

}  // namespace

std::string_view to_string(Tokenizer tokenizer) {
  return std::find_if(std::begin(kNames), std::end(kNames),
                      [&](const auto& entry) { return entry.first == tokenizer; })
      ->second;
}

Tokenizer tokenizer_from_name(std::string_view name) {
  for (const auto& [tokenizer, known] : kNames) {
    if (known == name) return tokenizer;
  }
  throw UsageError("unknown tokenizer '{}': use 13a, intl, char, zh or none", name);
}

std::u32string tokenize(std::u32string_view segment, Tokenizer tokenizer, bool lowercase) {
  const std::u32string lowered = lowercase ? lower_case(segment) : std::u32string(segment);
  const std::u32string_view text = strip_end(lowered);
  switch (tokenizer) {
    case Tokenizer::k13a:
      return tokenize_13a(text);
    case Tokenizer::kInternational:
      return tokenize_international(text);
    case Tokenizer::kCharacter:
      return tokenize_characters(text);
    case Tokenizer::kChinese:
      return western(space_characters(strip(text), is_chinese));
    case Tokenizer::kNone:
      break;
  }
  return std::u32string(text);
}

std::string tokenize(std::string_view segment, Tokenizer tokenizer, bool lowercase) {
  return encode_utf8(tokenize(decode_utf8(segment), tokenizer, lowercase));
}

}  // namespace filigree::evaluate
