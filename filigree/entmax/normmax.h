// α-normmax on tensors: p = argmax over the simplex of ⟨p, z⟩ − ‖p‖_α (Blondel, Martins and
// Niculae, 2020, "Learning with Fenchel-Young losses"). Also torch.ops.filigree.normmax
// and …normmax_loss.
#pragma once

#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace filigree {

/// p_i ∝ [z_i − τ]_+^{1/(α−1)} with τ such that Σ [z_i − τ]_+^{α/(α−1)} = 1. For α ≤ 1 the norm
/// no longer spreads the mass, which then sits on the largest scores in equal parts.
///
/// scores, alpha, dim, masks, NaN and types: as for entmax(), but alpha may be any number.
/// Differentiable, also twice, in scores and alpha. Computed in float64.
at::Tensor normmax(const at::Tensor& scores, const at::Tensor& alpha, int64_t dim = -1);
at::Tensor normmax(const at::Tensor& scores, double alpha, int64_t dim = -1);

/// The Fenchel-Young loss of normmax, L = ⟨p − e_y, z⟩ + 1 − ‖p‖_α ≥ 0, for α ≥ 1. Arguments and
/// errors: as for entmax_loss().
at::Tensor normmax_loss(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& alpha,
                        int64_t dim = -1, int64_t reduction = at::Reduction::Mean,
                        int64_t ignore_index = -100, double label_smoothing = 0);
at::Tensor normmax_loss(const at::Tensor& logits, const at::Tensor& target, double alpha,
                        int64_t dim = -1, int64_t reduction = at::Reduction::Mean,
                        int64_t ignore_index = -100, double label_smoothing = 0);

}  // namespace filigree
