// Label-smoothed cross-entropy of one row of logits over the vocabulary, with its gradient written
// over the logits.
#pragma once

#include <cstdint>

namespace filigree::model {

struct RowLoss {
  double loss;            ///< −(1 − ε) log p[gold] − ε/V Σ_j log p[j]
  double log_likelihood;  ///< log p[gold]
};

/// logits [size]; on return they hold scale · ∂loss/∂logits unless `scale` is 0, when they are left
/// in an undefined state. smoothing is the ε above.
RowLoss cross_entropy_row(float* logits, int64_t size, int64_t gold, double smoothing, float scale);
RowLoss cross_entropy_row(double* logits, int64_t size, int64_t gold, double smoothing,
                          double scale);

}  // namespace filigree::model
