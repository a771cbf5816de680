// Adam (Kingma and Ba, 2015) over a range of a flat buffer, in one pass. No torch.
#pragma once

#include <cstdint>

namespace filigree::train {

struct AdamStep {
  double learning_rate;
  double beta1, beta2, epsilon;
  int64_t step;           ///< 1 for the first update, for the bias correction
  double gradient_scale;  ///< the gradient is multiplied by it first (clipping)
  double smoothing = 0;   ///< weight of the new parameters in `average`
};

/// Updates `size` parameters and both moments. average may be null.
void adam_update(const AdamStep& step, int64_t size, const float* gradient, float* parameter,
                 float* first_moment, float* second_moment, float* average);

/// to[i] += from[i]; returns Σ to[i]², in double.
double add_and_square_norm(int64_t size, const float* from, float* to);
/// Σ x[i]², in double.
double square_norm(int64_t size, const float* x);

}  // namespace filigree::train
