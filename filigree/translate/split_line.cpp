#include "filigree/translate/split_line.h"

#include <unicode/brkiter.h>

#include <cstdlib>
#include <memory>

#include "filigree/base/error.h"
#include "filigree/translate/spacing.h"

namespace filigree::translate {
namespace {

using MakeIterator = icu::BreakIterator* (*)(const icu::Locale&, UErrorCode&);

/// The place inside the text nearest its middle, in UTF-16 units; 0 when there is none.
int32_t middle_boundary(const icu::UnicodeString& text, MakeIterator make) {
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<icu::BreakIterator> iterator(make(icu::Locale::getRoot(), status));
  if (U_FAILURE(status)) throw Error("ICU cannot find text boundaries: {}", u_errorName(status));
  iterator->setText(text);
  const int32_t middle = text.length() / 2;
  int32_t best = 0;
  for (int32_t at = iterator->next(); at != icu::BreakIterator::DONE && at < text.length();
       at = iterator->next()) {
    if (best == 0 || std::abs(at - middle) <= std::abs(best - middle)) best = at;
  }
  return best;
}

int32_t place_to_split(const icu::UnicodeString& text) {
  for (const MakeIterator make :
       {&icu::BreakIterator::createSentenceInstance, &icu::BreakIterator::createLineInstance,
        &icu::BreakIterator::createCharacterInstance}) {
    if (const int32_t place = middle_boundary(text, make); place > 0) return place;
  }
  return 0;
}

void split(const icu::UnicodeString& text, int max_length,
           const std::function<int(std::string_view)>& piece_count,
           std::vector<std::string>& parts) {
  std::string utf8;
  text.toUTF8String(utf8);
  const int32_t place = piece_count(utf8) > max_length ? place_to_split(text) : 0;
  if (place == 0) {
    if (!utf8.empty()) parts.push_back(std::move(utf8));
    return;
  }
  split(icu::UnicodeString(text, 0, place).trim(), max_length, piece_count, parts);
  split(icu::UnicodeString(text, place).trim(), max_length, piece_count, parts);
}

bool needs_space(const std::string& left, const std::string& right) {
  return !written_without_spaces(last_character(left)) &&
         !written_without_spaces(first_character(right));
}

}  // namespace

std::vector<std::string> split_line(const std::string& line, int max_length,
                                    const std::function<int(std::string_view)>& piece_count) {
  if (piece_count(line) <= max_length) return {line};
  std::vector<std::string> parts;
  split(icu::UnicodeString::fromUTF8(line), max_length, piece_count, parts);
  if (parts.empty()) parts.emplace_back();  // nothing but spaces
  return parts;
}

std::string join_parts(const std::vector<std::string>& parts) {
  std::string joined;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    if (!joined.empty() && needs_space(joined, part)) joined += ' ';
    joined += part;
  }
  return joined;
}

}  // namespace filigree::translate
