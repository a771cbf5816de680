// Dropout whose mask is a function of a key and the element's index: it is never stored, and the
// backward draws the same mask again.
#pragma once

#include <cstdint>

namespace filigree::model {

/// 32 random bits for element `index` of the stream `key`. The vector code computes the same.
uint32_t dropout_bits(uint64_t key, uint64_t index);

/// out[i] = (residual ? residual[i] : 0) + (kept(i) ? x[i] / (1 − p) : 0), where element i is kept
/// with probability 1 − p. In place allowed. p in [0, 1).
void dropout_add(const float* x, const float* residual, float* out, int64_t size, double p,
                 uint64_t key);
void dropout_add(const double* x, const double* residual, double* out, int64_t size, double p,
                 uint64_t key);

}  // namespace filigree::model
