// Differences of exponentials for tensors x ≥ 0, without the cancellation of their formulas near 0:
// φ₁(x) = (eˣ − 1) / x, φ₂(x) = (eˣ − 1 − x) / x² and its derivative; ψ(x) = φ₁(−x) and χ = −ψ'.
#pragma once

#include <ATen/core/Tensor.h>

namespace filigree::entmax_operators {

at::Tensor phi1(const at::Tensor& x);
at::Tensor phi2(const at::Tensor& x);
at::Tensor phi2_derivative(const at::Tensor& x);
at::Tensor psi(const at::Tensor& x);  ///< (1 − e⁻ˣ) / x
at::Tensor chi(const at::Tensor& x);  ///< (1 − (1 + x) e⁻ˣ) / x²

/// φ₂ for 0 ≤ x ≤ 1, by its series alone.
at::Tensor phi2_series(const at::Tensor& x);

}  // namespace filigree::entmax_operators
