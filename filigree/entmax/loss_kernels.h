// The α-entmax loss of rows in memory and its gradients, vectorised, without LibTorch: what
// kernels.h is for α-entmax itself. α = 1 is cross-entropy, α = 2 the sparsemax loss.
//
// For a row of scores z, its distribution p = α-entmax(z) and a target distribution y,
//
//   L = ⟨p − y, z⟩ + H_α(p),  H_α(p) = Σ (p − p^α) / (α (α − 1)), Shannon's entropy at α = 1,
//
// with ∂L/∂z = p − y and, as p is where ⟨p, z⟩ + H_α(p) is largest, ∂L/∂α = ∂H_α/∂α at a fixed p.
// (Blondel, Martins and Niculae, 2020, "Learning with Fenchel-Young losses".)
// y is (1 − s) at the target class plus s/C everywhere, where s is the label smoothing and C the
// number of unmasked classes. Without smoothing L ≥ 0, and L = 0 exactly where p is 1 at the
// target: for α > 1 as soon as z leads by a margin of 1/(α − 1).
#pragma once

#include <cstdint>

#include "filigree/entmax/kernels.h"

namespace filigree::entmax_kernels {

/// The loss of every row in `value` (one per row), and p.
/// target (one per row): the class, below the row's length; a negative one ignores the row, whose
/// scores are not looked at: its loss and p are 0. A row that is masked throughout counts as
/// ignored. A masked target makes the loss +inf. NaN stays in its row.
/// p (not in place): as forward() gives it, but with label smoothing masked entries are −0, by
/// which loss_backward() knows them. dalpha (one per row, may be null): ∂L/∂α, without cancellation
/// as α → 1; at α = 1 the limit from above.
void loss(Rows shape, const float* z, const int64_t* target, double alpha, double label_smoothing,
          float* p, float* value, double* dalpha = nullptr);
void loss(Rows shape, const double* z, const int64_t* target, double alpha, double label_smoothing,
          double* p, double* value, double* dalpha = nullptr);

/// dz = dvalue (p − y) from the p of loss(); 0 in ignored rows. dvalue: one per row. In place
/// allowed (dz == p).
void loss_backward(Rows shape, const float* p, const int64_t* target, double label_smoothing,
                   const float* dvalue, float* dz);
void loss_backward(Rows shape, const double* p, const int64_t* target, double label_smoothing,
                   const double* dvalue, double* dz);

}  // namespace filigree::entmax_kernels
