// Places in a text: where its words and pieces lie, and which piece belongs to which word.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace filigree::text {

/// The bytes begin … end − 1 of a text, or other things counted from 0.
struct Range {
  size_t begin = 0, end = 0;
  bool operator==(const Range&) const = default;
};

/// Words as Moses, fast_align and Pharaoh files count them: runs of bytes between ASCII white
/// space. A text without spaces, such as Japanese, is one word.
std::vector<Range> words_of(std::string_view text);

/// For every piece (its bytes in `text`, see Tokenizer::encode) the words it belongs to: those that
/// it overlaps. A piece of white space alone, or of no text, belongs to the word at its end or,
/// when there is none, to the next one; at the end of the text to none.
std::vector<Range> words_of_pieces(std::span<const Range> words, std::span<const Range> pieces);

/// The range without the white space (Unicode's) at both ends; empty, at its end, when there is
/// nothing else.
Range trim(std::string_view text, Range range);

/// The same places of `text` (UTF-8) counted in Unicode code points, as Python's str does.
std::vector<Range> in_code_points(std::string_view text, std::span<const Range> ranges);

}  // namespace filigree::text
