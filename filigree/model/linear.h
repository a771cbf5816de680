// Affine maps with autograd: bias, ReLU and their gradients are part of the matrix products.
// Tensors that are not on the CPU, and products in bfloat16 on a CPU without AMX, go to tensor
// operations instead.
#pragma once

#include <ATen/core/Tensor.h>

#include "filigree/model/precision.h"

namespace filigree::model {

/// Whether products with x are made by kernels/matrix_product.h.
bool has_fused_products(const at::Tensor& x, Precision precision);

struct Linear {
  at::Tensor weight;  ///< [out, in]
  at::Tensor bias;    ///< [out]
  /// x [N, in] → x weightᵀ + bias [N, out]
  at::Tensor operator()(const at::Tensor& x, Precision precision = Precision::kFloat32) const;
};

/// outer(max(inner(x), 0))
at::Tensor feed_forward(const Linear& inner, const Linear& outer, const at::Tensor& x,
                        Precision precision = Precision::kFloat32);

}  // namespace filigree::model
