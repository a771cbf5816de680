// Lines that are too long for a model, taken apart and put together again.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace filigree::translate {

/// Splits a line (UTF-8) until every part has at most `max_length` pieces: at the end of a sentence
/// where there is one, else where a line may be broken (Unicode's rules, so also inside Japanese),
/// else between any two characters, and of these places at the one nearest the middle. No text is
/// lost but the spaces around the cuts. One character is never split, whatever its pieces.
/// piece_count: the number of pieces of a text.
std::vector<std::string> split_line(const std::string& line, int max_length,
                                    const std::function<int(std::string_view)>& piece_count);

/// Joins translated parts with a space, but without one where either side of the seam is written
/// without spaces (Chinese, Japanese). Empty parts leave no trace.
std::string join_parts(const std::vector<std::string>& parts);

}  // namespace filigree::translate
