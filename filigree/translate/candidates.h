// The best few of many sums: the selection inside beam search.
#pragma once

#include <cstddef>
#include <vector>

namespace filigree::translate {

/// A continuation of a live hypothesis.
struct Candidate {
  double log_probability;  ///< of the whole hypothesis
  int row;                 ///< the hypothesis that it continues
  int token;
};

/// Keeps the `capacity` best candidates of those offered. Rows are offered in ascending order; of
/// equal sums the lower row, then the lower token, is better.
class TopCandidates {
 public:
  explicit TopCandidates(int capacity) : capacity_(capacity) { heap_.reserve(capacity); }

  /// Offers log_probability + values[token] for every token below `size`, in one pass. Sums of −inf
  /// are no candidates. Returns false when some value is NaN.
  bool offer_row(int row, double log_probability, const float* values, int size);
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
