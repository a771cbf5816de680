// No n-gram twice in an output.
#pragma once

#include <span>
#include <vector>

namespace filigree::translate {

/// Appends the tokens that would end an n-gram which `tokens` already contains. n is at least 1;
/// with n = 1 these are the tokens themselves.
void append_repeating_tokens(std::span<const int> tokens, int n, std::vector<int>& forbidden);

}  // namespace filigree::translate
