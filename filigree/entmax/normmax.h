// α-normmax on tensors: p = argmax over the simplex of ⟨p, z⟩ − ‖p‖_α (Blondel, Martins and
// Niculae, 2020, "Learning with Fenchel-Young losses"). Also torch.ops.filigree.normmax.
#pragma once

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

}  // namespace filigree
