// Checking that bytes are UTF-8, and making them so.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace filigree::text {

/// The offset of the first byte that does not begin a well-formed character, or nothing when all of
/// `text` is UTF-8. Overlong forms, surrogates and values above U+10FFFF are not well formed.
std::optional<size_t> find_invalid_utf8(std::string_view text);

/// `text` with U+FFFD in place of every NUL byte and of every sequence that is not a character
/// (the longest that begins like one, as the Unicode standard recommends).
std::string replace_invalid_utf8(std::string_view text);

}  // namespace filigree::text
