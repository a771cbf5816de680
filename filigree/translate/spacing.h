// White space, and writing that does without.
#pragma once

#include <string_view>

namespace filigree::translate {

/// Full-width letters and punctuation, ideographs, kana; not Hangul, which is written with spaces.
bool written_without_spaces(char32_t character);

/// The first and the last character of UTF-8; U+FFFD when there is none.
char32_t first_character(std::string_view text);
char32_t last_character(std::string_view text);

/// The white space (Unicode's, tabs and ideographic spaces too) that a text begins with.
std::string_view leading_blanks(std::string_view text);

}  // namespace filigree::translate
