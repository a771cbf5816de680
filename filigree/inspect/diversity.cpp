#include "filigree/inspect/diversity.h"

#include <algorithm>
#include <cmath>

namespace filigree::inspect {
namespace {

using Row = std::span<const SparseAttention::Entry>;

// The entropy of the mean of several rows.
class Mixture {
 public:
  explicit Mixture(int32_t keys) : mass_(static_cast<size_t>(keys)) {}

  void add(Row row) {
    for (const auto& entry : row) mass_[static_cast<size_t>(entry.key)] += entry.weight;
  }
  /// Of the mean of `count` rows that were added; then forgets them.
  double take_entropy(size_t count) {
    double h = 0;
    for (double& mass : mass_) {
      if (mass > 0) {
        const double p = mass / static_cast<double>(count);
        h -= p * std::log(p);
      }
      mass = 0;
    }
    return h;
  }

 private:
  std::vector<double> mass_;
};

}  // namespace

void Diversity::operator+=(const Diversity& other) {
  by_heads += other.by_heads;
  by_keys += other.by_keys;
  for (size_t i = 0; i < pairs.size(); ++i) pairs[i] += other.pairs[i];
}

Diversity measure_diversity(AttentionBlock block, const LayerAttention& heads) {
  const size_t count = heads.size();
  Diversity d(count);
  if (count == 0) return d;
  Mixture mixture(heads[0].keys());
  std::vector<double> entropies(count);
  for (int32_t q = 0; q < heads[0].queries(); ++q) {
    double mean = 0;
    for (size_t h = 0; h < count; ++h) {
      mixture.add(heads[h].row(q));
      entropies[h] = entropy(heads[h].row(q));
      mean += entropies[h] / static_cast<double>(count);
    }
    const double js = std::max(mixture.take_entropy(count) - mean, 0.0);
    d.by_heads.add(count > 1 ? js / std::log(count) : 0);
    const int32_t visible = visible_keys(block, q, heads[0].keys());
    if (visible > 1) d.by_keys.add(js / std::log(visible));
    for (size_t a = 0; a < count; ++a) {
      for (size_t b = a + 1; b < count; ++b) {
        mixture.add(heads[a].row(q));
        mixture.add(heads[b].row(q));
        const double pair = mixture.take_entropy(2) - (entropies[a] + entropies[b]) / 2;
        d.pairs[a * count + b].add(std::max(pair, 0.0) / std::log(2));
      }
    }
  }
  for (size_t a = 0; a < count; ++a) {
    for (size_t b = 0; b < a; ++b) d.pairs[a * count + b] = d.pairs[b * count + a];
    d.pairs[a * count + a] = {0, heads[0].queries()};
  }
  return d;
}

}  // namespace filigree::inspect
