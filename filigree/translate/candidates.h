// The best few of many sums: the selection inside beam search.
#pragma once

#include <cstddef>
#include <vector>

#include "filigree/translate/step_function.h"

namespace filigree::translate {

/// A continuation of a live hypothesis.
struct Candidate {
  double log_probability;  ///< of the whole hypothesis
  int row;                 ///< the hypothesis that it continues
  int token;
};

/// The order of candidates: by sum; of equal sums the lower row, then the lower token, is better.
bool better(const Candidate& a, const Candidate& b);

/// Keeps the `capacity` best candidates of those offered.
class TopCandidates {
 public:
  explicit TopCandidates(int capacity) : capacity_(capacity) { heap_.reserve(capacity); }

  /// Offers log_probability + log p(token) of every token, as `scores` has them in `scores_row`.
  /// Blocks whose maximum cannot be kept are not looked at. Sums of −inf are no candidates.
  void offer_row(int row, double log_probability, StepScores& scores, int scores_row);
  /// Offers one sum.
  void offer(const Candidate& candidate);
  /// Those kept, best first; leaves the object empty.
  std::vector<Candidate> take();

 private:
  double worst_kept() const;
  size_t capacity_;
  std::vector<Candidate> heap_;  ///< the worst kept candidate first
};

}  // namespace filigree::translate
