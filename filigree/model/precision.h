// The number format of matrix products in training. Weights, sums and everything between products
// stay as they are.
#pragma once

#include <ATen/core/Tensor.h>

namespace filigree::model {

enum class Precision {
  kFloat32,   ///< products in the type of their operands
  kBfloat16,  ///< operands and results rounded to bfloat16 (8 bits), sums inside in float32
};

/// Whether this processor multiplies bfloat16 in hardware (AVX512-BF16, AMX, or Arm's BF16);
/// without that kBfloat16 is right but slow.
bool has_bfloat16_instructions();

/// x weightᵀ + bias. x [N, I], weight [O, I], bias [O] or undefined; returns [N, O] in x's type, to
/// which the bias is added after the product is rounded. Gradients go through products of the same
/// precision.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                  Precision precision);

}  // namespace filigree::model
