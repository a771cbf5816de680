// Dropout whose mask is a function of a key and the element's index: it is never stored, and the
// backward draws the same mask again.
#pragma once

#include <cstdint>

namespace filigree {

/// 32 random bits for element `index` of the stream `key`: two rounds of multiplication and
/// xorshift between the halves of the key, in 32 bits, which every instruction set multiplies.
constexpr uint32_t kDropoutMultiplier1 = 0x7feb352du, kDropoutMultiplier2 = 0x846ca68bu;
uint32_t dropout_bits(uint64_t key, uint64_t index);

/// An element is kept when its bits are below this. p: the probability of being dropped.
uint32_t dropout_threshold(double p);

/// out[i] = (residual ? residual[i] : 0) + (kept(i) ? x[i] / (1 − p) : 0), where element i is kept
/// with probability 1 − p. In place allowed. p in [0, 1). x[0] is element `first` of the stream, so
/// that a part of an array gives the same as the whole.
void dropout_add(const float* x, const float* residual, float* out, int64_t size, double p,
                 uint64_t key, uint64_t first = 0);
void dropout_add(const double* x, const double* residual, double* out, int64_t size, double p,
                 uint64_t key, uint64_t first = 0);

/// factors[i] = 1 / (1 − p) where element first + index[i] of the stream is kept, else 0.
void dropout_factors(const int32_t* index, int64_t size, double p, uint64_t key, uint64_t first,
                     float* factors);
void dropout_factors(const int32_t* index, int64_t size, double p, uint64_t key, uint64_t first,
                     double* factors);

}  // namespace filigree
