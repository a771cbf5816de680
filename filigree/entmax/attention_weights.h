// From attention scores to attention weights in one go and in place: scale, mask, α-entmax,
// dropout; and back. Masks are given as what they are, key lengths and causality, so that padding
// and the upper triangle are neither read nor computed, only set to 0. No LibTorch.
#pragma once

#include <cstdint>

namespace filigree::entmax_kernels {

/// Scores [batch, heads, queries, keys], contiguous, of which block b · heads + h belongs to
/// sequence b and head h. Different blocks may be computed by different threads.
struct AttentionScores {
  int64_t batch, heads, queries, keys;
  const double* alpha;  ///< [heads], finite, at least 1
  double scale = 1;     ///< positive; scores are multiplied by it: 1/√d
  /// May be null. Otherwise only the first key_lengths[b] (0 … keys) keys of sequence b exist.
  const int32_t* key_lengths = nullptr;
  /// Query i sees keys 0 … i + (keys − queries): with fewer queries than keys the queries are the
  /// last ones.
  bool causal = false;
  double dropout = 0;        ///< probability in [0, 1) of a weight to be dropped
  uint64_t dropout_key = 0;  ///< names the mask; see dropout.h
};

/// Replaces the scores of blocks first … last − 1 by the weights p. dropped (may be null when
/// dropout is 0) receives the weights to multiply the values with: p / (1 − dropout) where they are
/// kept, else 0. Both arrays are whole, [batch, heads, queries, keys].
void attention_weights(const AttentionScores& shape, int64_t first, int64_t last, float* scores,
                       float* dropped = nullptr);
void attention_weights(const AttentionScores& shape, int64_t first, int64_t last, double* scores,
                       double* dropped = nullptr);

/// Replaces the cotangent of what multiplies the values by the gradient of the scores, for blocks
/// first … last − 1. weights: p, before dropout. alpha_gradient (may be null): [batch, heads], one
/// number written per block.
void attention_weights_backward(const AttentionScores& shape, int64_t first, int64_t last,
                                const float* weights, float* gradient,
                                double* alpha_gradient = nullptr);
void attention_weights_backward(const AttentionScores& shape, int64_t first, int64_t last,
                                const double* weights, double* gradient,
                                double* alpha_gradient = nullptr);

}  // namespace filigree::entmax_kernels
