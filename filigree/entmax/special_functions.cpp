#include "filigree/entmax/special_functions.h"

#include <ATen/ATen.h>

namespace filigree::entmax_operators {
namespace {

// Σ_k x^k / (k + from)! · (k + 1)^derivative for x ≤ 1.
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

// `closed(x)` above 1 and the series below, each evaluated where it is finite only.
template <typename Closed>
at::Tensor piecewise(const at::Tensor& x, int from, bool derivative, Closed&& closed) {
  return at::where(x > 1, closed(x.clamp_min(1)), series(x.clamp_max(1), from, derivative));
}

}  // namespace

at::Tensor phi1(const at::Tensor& x) {
  return piecewise(x, 1, false, [](const at::Tensor& y) { return y.expm1() / y; });
}

at::Tensor phi2(const at::Tensor& x) {
  return piecewise(x, 2, false, [](const at::Tensor& y) { return (y.expm1() - y) / (y * y); });
}

// φ₂'(x) = Σ_k (k + 1) x^k / (k + 3)!
at::Tensor phi2_derivative(const at::Tensor& x) {
  return piecewise(x, 3, true,
                   [](const at::Tensor& y) { return (y.exp() * (y - 2) + y + 2) / (y * y * y); });
}

at::Tensor phi2_series(const at::Tensor& x) { return series(x, 2, false); }

}  // namespace filigree::entmax_operators
