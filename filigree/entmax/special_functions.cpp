#include "filigree/entmax/special_functions.h"

#include <ATen/ATen.h>

namespace filigree::entmax_operators {
namespace {

// Σ_k x^k / (k + from)! · (k + 1)^derivative for −1 ≤ x ≤ 1.
at::Tensor series(const at::Tensor& x, int from, bool derivative) {
  const int terms = x.scalar_type() == at::kDouble ? 20 : 11;
  double factorial = 1;
  for (int k = 2; k < terms + from; ++k) factorial *= k;
  at::Tensor sum = at::zeros_like(x);
  for (int k = terms - 1; k >= 0; --k) {
    sum = sum * x + (derivative ? k + 1 : 1) / factorial;
    factorial /= k + from;
  }
  return sum;
}

at::Tensor near(const at::Tensor& x) { return x.clamp_max(1); }

// `closed(x)` above 1, where it does not cancel, and a series of near(x) below. Each is evaluated
// where it is finite only, so that gradients are finite too.
template <typename Closed>
at::Tensor piecewise(const at::Tensor& x, const at::Tensor& below, Closed&& closed) {
  return at::where(x > 1, closed(x.clamp_min(1)), below);
}

}  // namespace

at::Tensor phi1(const at::Tensor& x) {
  return piecewise(x, series(near(x), 1, false), [](const at::Tensor& y) { return y.expm1() / y; });
}

at::Tensor phi2(const at::Tensor& x) {
  return piecewise(x, series(near(x), 2, false),
                   [](const at::Tensor& y) { return (y.expm1() - y) / (y * y); });
}

// φ₂'(x) = Σ_k (k + 1) x^k / (k + 3)!
at::Tensor phi2_derivative(const at::Tensor& x) {
  return piecewise(x, series(near(x), 3, true),
                   [](const at::Tensor& y) { return (y.exp() * (y - 2) + y + 2) / (y * y * y); });
}

at::Tensor psi(const at::Tensor& x) {
  return piecewise(x, series(-near(x), 1, false),
                   [](const at::Tensor& y) { return -(-y).expm1() / y; });
}

// χ(x) = Σ_k (k + 1) (−x)^k / (k + 2)!
at::Tensor chi(const at::Tensor& x) {
  return piecewise(x, series(-near(x), 2, true),
                   [](const at::Tensor& y) { return (1 - (1 + y) * (-y).exp()) / (y * y); });
}

at::Tensor phi2_series(const at::Tensor& x) { return series(x, 2, false); }

}  // namespace filigree::entmax_operators
