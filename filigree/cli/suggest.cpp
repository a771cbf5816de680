#include "filigree/cli/suggest.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace filigree::cli {
namespace {

/// Levenshtein's distance, one row at a time.
size_t edits(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
  const std::string* best = nullptr;
  size_t fewest = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const size_t distance = edits(word, candidate);
    if (distance < fewest) {
      fewest = distance;
      best = &candidate;
    }
  }
  return best ? "; did you mean " + *best + "?" : "";
}

}  // namespace filigree::cli
