// α-entmax at every positive α. Below 1 the map is dense, with tails heavier than those of softmax;
// kernels and losses begin at α = 1, this is for programs that explore the family as a whole. Also
// torch.ops.filigree.entmax_any_alpha.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace filigree {

/// entmax() for rows with α ≥ 1; rows with 0 < α < 1 are computed in float64. Arguments as there.
at::Tensor entmax_any_alpha(const at::Tensor& scores, const at::Tensor& alpha, int64_t dim = -1);
at::Tensor entmax_any_alpha(const at::Tensor& scores, double alpha, int64_t dim = -1);

}  // namespace filigree
