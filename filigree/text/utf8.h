// Checking that bytes are UTF-8.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace filigree::text {

/// The offset of the first byte that does not begin a well-formed character, or nothing when all of
/// `text` is UTF-8. Overlong forms, surrogates and values above U+10FFFF are not well formed.
std::optional<size_t> find_invalid_utf8(std::string_view text);

}  // namespace filigree::text
