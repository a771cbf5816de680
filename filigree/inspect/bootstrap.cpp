#include "filigree/inspect/bootstrap.h"

#include <algorithm>
#include <cmath>

#include "filigree/base/random.h"

namespace filigree::inspect {
namespace {

// Inversion: the number of factors e^−1/k! summed until the uniform number is passed.
int poisson(double uniform) {
  double probability = std::exp(-1.0), below = probability;
  int k = 0;
  while (uniform >= below && k < 20) {
    probability /= ++k;
    below += probability;
  }
  return k;
}

}  // namespace

Interval interval_of(std::vector<double> values) {
  if (values.empty()) return {0, 0};
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<size_t>(std::lround(share * static_cast<double>(values.size() - 1)))];
  };
  return {at(0.025), at(0.975)};
}

void Bootstrap::add(uint64_t sentence, std::span<const Mean> quantities) {
  const size_t size = quantities.size();
  sums_.resize(static_cast<size_t>(samples_) * size);
  counts_.resize(sums_.size());
  Random random(combine(seed_, sentence));
  for (size_t sample = 0; sample < static_cast<size_t>(samples_); ++sample) {
    const double times = poisson(random.uniform());
    if (times == 0) continue;
    double* const sums = sums_.data() + sample * size;
    double* const counts = counts_.data() + sample * size;
    for (size_t i = 0; i < size; ++i) {
      sums[i] += times * quantities[i].sum;
      counts[i] += times * static_cast<double>(quantities[i].count);
    }
  }
}

std::vector<double> Bootstrap::values(size_t quantity) const {
  std::vector<double> values;
  const size_t size = sums_.size() / static_cast<size_t>(samples_);
  for (size_t i = quantity; i < sums_.size(); i += size) {
    values.push_back(counts_[i] == 0 ? 0 : sums_[i] / counts_[i]);
  }
  return values;
}

}  // namespace filigree::inspect
