// α-entmax in tensor operations, for devices that have no kernel of their own. Rows are solved all
// at once, in a number of steps that is fixed beforehand, so that nothing waits for the device.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <tuple>

#include "filigree/entmax/operators.h"

namespace filigree::entmax_operators {

/// As forward_cpu(), on any device. An α below 1 throws where its value is at hand, on the CPU;
/// elsewhere asking for it would mean waiting, and its rows become NaN instead.
Outputs forward_composite(const at::Tensor& scores, const at::Tensor& alpha, int64_t dim);
std::tuple<at::Tensor, at::Tensor> backward_composite(const at::Tensor& p, const at::Tensor& dp,
                                                      const at::Tensor& alpha, int64_t dim,
                                                      bool with_alpha);

/// The same results without values, for tensors on the Meta device: shapes, types and strides.
Outputs forward_meta(const at::Tensor& scores, const at::Tensor& alpha, int64_t dim);
std::tuple<at::Tensor, at::Tensor> backward_meta(const at::Tensor& p, const at::Tensor& dp,
                                                 const at::Tensor& alpha, int64_t dim,
                                                 bool with_alpha);

/// How many steps bring Newton's method to 2^−bits of the root for a row of n scores and any α ≤
/// 1 + epsilon (epsilon ≤ 1), whatever the scores.
///
/// For a convex function that is approached from its left side, g and |g'| fall with every step,
/// and the ratios of the new to the old values add up to at most 1: the tangent at the old point
/// is nowhere above the function. g = ((Σp)^ε − 1) / ε begins at or below (n^ε − 1) / ε and has
/// arrived at 2^−bits; |g'| begins at or below n^ε and never falls below 1, its least value at the
/// root. So over k steps the geometric means of the two ratios are at least B^{−1/k} and A^{−1/k},
/// with B = 2^bits (n^ε − 1) / ε and A = n^ε. Geometric means add up to at most 1 as well, hence
/// the first k with A^{−1/k} + B^{−1/k} > 1 is enough.
int newton_steps(int64_t n, double epsilon, int bits);

}  // namespace filigree::entmax_operators
