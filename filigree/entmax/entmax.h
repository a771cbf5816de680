// α-entmax on tensors: p = argmax over the simplex of ⟨p, z⟩ + H_α(p), a softmax (α = 1) that can
// give exact zeros (α > 1). Also registered as torch.ops.filigree.entmax and
// …entmax_with_threshold.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <tuple>

namespace filigree {

/// p_i = [(α−1) z_i − τ]_+^{1/(α−1)} along `dim`, with τ such that Σp = 1.
///
/// scores: float32, float64, bfloat16 or float16, any shape and strides; the result has its shape
/// and type. Half types are computed in float32.
/// alpha: at least 1 and finite; 0-dimensional, or a tensor that broadcasts over the scores and has
/// size 1 along `dim`. For attention scores [batch, head, query, key] reduced over the keys, a
/// plain [head] tensor gives every head its own. Keep it in float32 (float64 with float64 scores).
/// Differentiable, also twice, in scores and alpha.
///
/// −inf masks an entry; a row masked throughout gives zeros and zero gradients. NaN stays in its
/// own row. Throws c10::Error on alpha below 1 and on types and shapes that do not fit.
///
/// Tensors on the CPU go to the vector kernels, those of other devices to tensor operations, in a
/// number of steps that depends on the size and type alone, so that nothing waits for the device.
/// There an alpha that only the device knows is not checked: below 1 it makes its rows NaN.
/// Meta tensors give shapes and types.
at::Tensor entmax(const at::Tensor& scores, const at::Tensor& alpha, int64_t dim = -1);
at::Tensor entmax(const at::Tensor& scores, double alpha, int64_t dim = -1);

/// Returns p as above; the threshold τ (for α = 1: log Σ exp z; +inf where a row is masked
/// throughout); and the support size, the number of entries with p > 0 (int64). The last two have
/// size 1 along `dim` and are not differentiable; τ is float32, or float64 for float64 scores.
std::tuple<at::Tensor, at::Tensor, at::Tensor> entmax_with_threshold(const at::Tensor& scores,
                                                                     const at::Tensor& alpha,
                                                                     int64_t dim = -1);
std::tuple<at::Tensor, at::Tensor, at::Tensor> entmax_with_threshold(const at::Tensor& scores,
                                                                     double alpha,
                                                                     int64_t dim = -1);

}  // namespace filigree
