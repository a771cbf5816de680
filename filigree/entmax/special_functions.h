// φ₁(x) = (eˣ − 1) / x, φ₂(x) = (eˣ − 1 − x) / x² and its derivative for tensors x ≥ 0, without the
// cancellation of these formulas near 0.
#pragma once

#include <ATen/core/Tensor.h>

namespace filigree::entmax_operators {

at::Tensor phi1(const at::Tensor& x);
at::Tensor phi2(const at::Tensor& x);
at::Tensor phi2_derivative(const at::Tensor& x);

/// φ₂ for 0 ≤ x ≤ 1, by its series alone.
at::Tensor phi2_series(const at::Tensor& x);

}  // namespace filigree::entmax_operators
