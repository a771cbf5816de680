// The step of the residual stream between two branches of a Transformer layer, as one function with
// autograd.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace filigree::model {

/// Added to the variance.
inline constexpr double kLayerNormEpsilon = 1e-6;

struct LayerNorm {
  at::Tensor weight, bias;  ///< [D]
  /// x [N, D] with every row normed to mean 0 and variance 1, times weight, plus bias.
  at::Tensor operator()(const at::Tensor& x) const;
};

struct Normed {
  at::Tensor sum;     ///< residual + dropout(branch)
  at::Tensor normed;  ///< its layer norm
};

/// branch and residual [N, D]. The dropout mask is a function of the key, the row and the column.
Normed add_norm(const at::Tensor& branch, const at::Tensor& residual, const LayerNorm& norm,
                double dropout, uint64_t dropout_key);

}  // namespace filigree::model
