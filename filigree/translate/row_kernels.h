// What decoding does to rows of numbers besides products and attention. Vectorised, one thread, no
// LibTorch; a row's result does not depend on the other rows.
#pragma once

#include <cstdint>

namespace filigree::translate {

/// out = scale · embedding + position, `width` numbers each.
void embed_row(const float* embedding, float scale, const float* position, int64_t width,
               float* out);

/// y = weight (x − mean) / √(variance + 1e-6) + bias for rows of `width` numbers. In place allowed.
void layer_norm(const float* x, int64_t rows, int64_t width, const float* weight, const float* bias,
                float* y);

/// sums = log(exp(sums) + exp(values − shift)), also where either is −∞.
void log_add(const float* values, float shift, int64_t size, float* sums);

/// log Σ exp of numbers that come in pieces.
struct LogSumExp {
  float max;
  double sum = 0;  ///< Σ exp(z − max)

  LogSumExp();
  /// Takes in `size` numbers and writes the maximum of every `block` of them. A NaN makes the value
  /// NaN.
  void add(const float* values, int64_t size, int64_t block, float* block_maxima);
  double value() const;
};

}  // namespace filigree::translate
