// Unicode text as the metrics see it: code points, white space and lower case as in Python's str,
// because that is what the published scores were computed with. Classes and case are those of ICU's
// version of Unicode; characters added after Python's version may differ.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace filigree::evaluate {

bool is_valid_utf8(std::string_view text);

/// UTF-8 to code points. Each ill-formed sequence becomes one U+FFFD, so that a broken byte in a
/// system's output costs score rather than stopping an evaluation.
std::u32string decode_utf8(std::string_view text);
std::string encode_utf8(std::u32string_view text);

/// Python's str.isspace: also NBSP, U+0085, U+2028, U+3000 and U+001C…U+001F, but neither U+200B
/// nor U+FEFF.
bool is_space(char32_t c);

/// Full lower-casing with context (final sigma; a dotted capital I becomes two code points), in no
/// particular language.
std::u32string lower_case(std::u32string_view text);

/// The text without white space at its end, or at both ends. The result is a view of the argument.
std::u32string_view strip_end(std::u32string_view text);
std::u32string_view strip(std::u32string_view text);

/// The words between white space; none is empty. Views of the argument.
std::vector<std::u32string_view> split(std::u32string_view text);

}  // namespace filigree::evaluate
