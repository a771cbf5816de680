// Linear maps of a given precision out of tensor operations, for every device.
#pragma once

#include <ATen/core/Tensor.h>

#include "filigree/model/kernels/precision.h"

namespace filigree::model {

/// Whether this processor multiplies bfloat16 in hardware (AVX512-BF16, AMX, or Arm's BF16);
/// without that kBfloat16 is right but slow.
bool has_bfloat16_instructions();

/// x weightᵀ + bias. x [N, I], weight [O, I], bias [O] or undefined; returns [N, O] in x's type. In
/// bfloat16 the product is rounded too, before the bias is added; kBfloat16x3 is done in x's type.
/// Gradients go through products of the same precision.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                  Precision precision);

}  // namespace filigree::model
