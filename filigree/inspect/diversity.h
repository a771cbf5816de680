// How different the heads of a layer are.
#pragma once

#include <vector>

#include "filigree/inspect/measures.h"

namespace filigree::inspect {

/// Means over the queries of a layer.
struct Diversity {
  explicit Diversity(size_t heads = 0) : pairs(heads * heads) {}
  /// Generalised Jensen-Shannon divergence of the heads, H(mean of the heads) − mean of H(head),
  /// divided by log of the number of heads, as the paper's figures are.
  Mean by_heads;
  /// The same divided by log of the number of keys; queries with a single key are left out.
  Mean by_keys;
  /// [head · heads + other head]: Jensen-Shannon divergence of two heads, divided by log 2: 0 when
  /// they look at the same, 1 when they have nothing in common.
  std::vector<Mean> pairs;

  void operator+=(const Diversity& other);
};

/// Of one layer in one sentence. With one head, by_heads and by_keys are 0.
Diversity measure_diversity(AttentionBlock block, const LayerAttention& heads);

}  // namespace filigree::inspect
