#include "filigree/translate/repeated_ngrams.h"

#include <algorithm>
#include <cstddef>

namespace filigree::translate {

void append_repeating_tokens(std::span<const int> tokens, int n, std::vector<int>& forbidden) {
  const auto context = static_cast<size_t>(n) - 1;
  if (tokens.size() < context) return;
  const std::span<const int> last = tokens.last(context);
  for (size_t i = 0; i + context < tokens.size(); ++i) {
    if (std::ranges::equal(tokens.subspan(i, context), last)) {
      forbidden.push_back(tokens[i + context]);
    }
  }
}

}  // namespace filigree::translate
