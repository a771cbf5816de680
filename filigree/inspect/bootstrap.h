// Confidence intervals by bootstrap over sentences, in one pass and bounded memory: every sentence
// counts a Poisson(1) number of times in each resampled text (Hanley and MacGibbon, 2006), which
// depends on the seed, the sentence and the sample alone. Two models that are given the same
// sentences are therefore resampled alike, and their difference is a paired one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "filigree/inspect/measures.h"

namespace filigree::inspect {

struct Interval {
  double low, high;
};

/// The values at 2.5 % and 97.5 % of what was resampled.
Interval interval_of(std::vector<double> values);

class Bootstrap {
 public:
  explicit Bootstrap(int samples = 1000, uint64_t seed = 1) : samples_(samples), seed_(seed) {}

  /// A sentence's part in every quantity, the same number of them each time. `sentence` is what it
  /// is called for every model, such as its line.
  void add(uint64_t sentence, std::span<const Mean> quantities);
  /// A quantity's mean in each of the resampled texts; 0 in one that has nothing of it.
  std::vector<double> values(size_t quantity) const;
  int samples() const { return samples_; }

 private:
  int samples_;
  uint64_t seed_;
  std::vector<double> sums_, counts_;  ///< [samples, quantities]
};

}  // namespace filigree::inspect
