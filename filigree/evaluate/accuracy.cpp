#include "filigree/evaluate/accuracy.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace filigree::evaluate {

double exact_match_accuracy(const Segments& hypotheses, const Segments& references) {
  check_sizes(hypotheses, {references});
  const int64_t equal =
      std::transform_reduce(hypotheses.begin(), hypotheses.end(), references.begin(), int64_t{0},
                            std::plus<>(), [](const auto& a, const auto& b) { return a == b; });
  return static_cast<double>(equal) / static_cast<double>(hypotheses.size());
}

}  // namespace filigree::evaluate
