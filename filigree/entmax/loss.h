// The α-entmax loss on tensors (Peters, Niculae and Martins, 2019), a Fenchel-Young loss: what
// cross-entropy is to softmax, for any α ≥ 1. Also registered as torch.ops.filigree.entmax_loss.
#pragma once

#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace filigree {

/// For every row z of logits along `dim` and its target class y, with p = α-entmax(z):
///
///   L = ⟨p − e_y, z⟩ + H_α(p),  H_α(p) = Σ (p − p^α) / (α (α − 1)), Shannon's entropy at α = 1
///
/// L ≥ 0, and L = 0 where p_y = 1: for α > 1 as soon as z_y leads by 1/(α − 1). α = 1 is
/// CrossEntropyLoss, α = 2 the sparsemax loss. ∂L/∂z = p − e_y. Differentiable, also twice, in
/// logits and alpha.
///
/// logits: as the scores of entmax(); half types are computed in float32.
/// target: integers in [0, classes), of the shape of logits without `dim`.
/// alpha: as in entmax().
/// reduction: at::Reduction::None (the shape of target), Mean (over the rows that are not ignored;
/// NaN when all are) or Sum.
/// ignore_index: rows with this target have loss and gradient 0; any integer, a class as well.
/// label_smoothing: s in [0, 1]; e_y becomes (1 − s) e_y + s/C over the C unmasked classes, and L
/// stays linear in it, as in CrossEntropyLoss; it can then be below 0 for α > 1.
///
/// −inf masks a class. A masked target has loss +inf; a row masked throughout has loss and gradient
/// 0 but counts in the mean.
/// Throws c10::Error on targets that are out of range, on alpha below 1, and on types and shapes
/// that do not fit.
at::Tensor entmax_loss(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& alpha,
                       int64_t dim = -1, int64_t reduction = at::Reduction::Mean,
                       int64_t ignore_index = -100, double label_smoothing = 0);
at::Tensor entmax_loss(const at::Tensor& logits, const at::Tensor& target, double alpha,
                       int64_t dim = -1, int64_t reduction = at::Reduction::Mean,
                       int64_t ignore_index = -100, double label_smoothing = 0);

}  // namespace filigree
