#include "filigree/entmax/normmax.h"

#include <torch/library.h>

#include "filigree/entmax/autocast.h"
#include "filigree/entmax/centred.h"
#include "filigree/entmax/operators.h"

namespace filigree {
namespace {

using namespace entmax_operators;

// So close to the edge of the support an entry's derivative is large enough to turn the rounding
// error of the root into a wrong gradient.
constexpr double kEdge = 1e-12;

// With x = [u + t]_+ and r = α / (α − 1), the root of ‖x‖_r = 1 in t ≤ 1. The norm is convex and
// increasing in t, so that Newton's steps go down to the root from 1.
at::Tensor weights(const Centred& row, const at::Tensor& alpha) {
  const at::Tensor r = alpha / (alpha - 1);
  const auto support = [&](const at::Tensor& t) { return row.present & (row.scores + t > kEdge); };
  const auto power = [&](const at::Tensor& t, const at::Tensor& exponent) {
    const at::Tensor on = support(t);
    const at::Tensor x = at::where(on, row.scores + t, at::ones_like(row.scores));
    return at::where(on, x.pow(exponent), at::zeros_like(x));
  };
  const auto step = [&](const at::Tensor& t) {
    const at::Tensor total = row.sum(power(t, r));
    return t - (total - total.pow(1 - 1 / r)) / row.sum(power(t, r - 1));
  };
  const at::Tensor p = power(newton(at::ones_like(row.sum(row.scores)), step), r - 1);
  return p / row.sum(p);
}

}  // namespace

at::Tensor normmax(const at::Tensor& scores, const at::Tensor& alpha, int64_t dim) {
  TORCH_CHECK(at::isFloatingType(scores.scalar_type()),
              "normmax: scores must be floating point, but they are ", scores.scalar_type());
  const at::Tensor aligned = align_alpha(alpha, scores, dim).to(at::kDouble);
  if (scores.numel() == 0) return scores.clone();
  const Centred row = centre(scores, dim);
  const at::Tensor top = (row.present & (row.scores == 0)).to(at::kDouble);
  const at::Tensor spreads = aligned > 1;
  const at::Tensor p = weights(row, at::where(spreads, aligned, at::full_like(aligned, 2)));
  return row.finish(at::where(spreads, p, top / row.sum(top)), scores.scalar_type());
}

at::Tensor normmax(const at::Tensor& scores, double alpha, int64_t dim) {
  return normmax(scores, at::scalar_tensor(alpha, scores.options().dtype(at::kDouble)), dim);
}

namespace {

at::Tensor from_tensor(const at::Tensor& scores, const at::Tensor& alpha, int64_t dim) {
  return normmax(scores, alpha, dim);
}

at::Tensor from_scalar(const at::Tensor& scores, double alpha, int64_t dim) {
  return normmax(scores, alpha, dim);
}

void under_autocast(torch::Library& library) {
  library.impl("normmax", float32_under_autocast<from_tensor>::call);
  library.impl("normmax.Scalar", float32_under_autocast<from_scalar>::call);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(filigree, library) {
  library.def("normmax(Tensor scores, Tensor alpha, int dim=-1) -> Tensor", from_tensor);
  library.def("normmax.Scalar(Tensor scores, float alpha, int dim=-1) -> Tensor", from_scalar);
}
TORCH_LIBRARY_IMPL(filigree, AutocastCPU, library) { under_autocast(library); }
TORCH_LIBRARY_IMPL(filigree, AutocastCUDA, library) { under_autocast(library); }

}  // namespace filigree
