// "did you mean": the known word nearest to a mistyped one.
#pragma once

#include <string>
#include <vector>

namespace filigree::cli {

/// "; did you mean WORD?" for the known word within a few edits of `word`, or "".
std::string suggestion(const std::string& word, const std::vector<std::string>& known);

}  // namespace filigree::cli
