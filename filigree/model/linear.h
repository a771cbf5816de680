// Affine maps with autograd: bias, ReLU and their gradients are part of the matrix products.
#pragma once

#include <ATen/core/Tensor.h>

namespace filigree::model {

struct Linear {
  at::Tensor weight;  ///< [out, in]
  at::Tensor bias;    ///< [out]
  /// x [N, in] → x weightᵀ + bias [N, out]
  at::Tensor operator()(const at::Tensor& x) const;
};

/// outer(max(inner(x), 0))
at::Tensor feed_forward(const Linear& inner, const Linear& outer, const at::Tensor& x);

}  // namespace filigree::model
