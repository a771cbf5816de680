#include "filigree/entmax/any_alpha.h"

#include <torch/library.h>

#include "filigree/entmax/autocast.h"
#include "filigree/entmax/centred.h"
#include "filigree/entmax/entmax.h"
#include "filigree/entmax/operators.h"

namespace filigree {
namespace {

using namespace entmax_operators;

// With a = 1 − α and u ≤ 0 the centred scores, p = (1 + a y)^{−1/a} with y = t − u and t ≥ 0 such
// that Σp = 1. (Σp)^{−a} is concave and increasing in t, so that Newton's steps go up to the root
// from 0.
at::Tensor entmax_below_one(const at::Tensor& scores, const at::Tensor& alpha, int64_t dim) {
  const Centred row = centre(scores, dim);
  const at::Tensor a = 1 - alpha;
  const auto weights = [&](const at::Tensor& t) {
    const at::Tensor p = (-(a * (t - row.scores)).log1p() / a).exp();
    return at::where(row.present, p, at::zeros_like(p));
  };
  const auto step = [&](const at::Tensor& t) {
    const at::Tensor p = weights(t), total = row.sum(p);
    const at::Tensor slope = row.sum(p / (1 + a * (t - row.scores)));
    return t + total * (a * total.log()).expm1() / (a * slope);
  };
  const at::Tensor t = newton(at::zeros_like(row.sum(row.scores)), step);
  return row.finish(weights(t), scores.scalar_type());
}

}  // namespace

at::Tensor entmax_any_alpha(const at::Tensor& scores, const at::Tensor& alpha, int64_t dim) {
  const at::Tensor aligned = align_alpha(alpha, scores, dim);
  const at::Tensor below = aligned.detach() < 1;
  if (!below.any().item<bool>()) return entmax(scores, alpha, dim);
  const double least = aligned.detach().min().item<double>();
  TORCH_CHECK(least > 0, "entmax: alpha must be positive, but it is ", least);
  if (scores.numel() == 0) return scores.clone();
  const at::Tensor dense =
      entmax_below_one(scores, at::where(below, aligned, at::full_like(aligned, 0.5)), dim);
  const at::Tensor sparse = entmax(scores, at::where(below, at::ones_like(aligned), aligned), dim);
  return at::where(below, dense, sparse);
}

at::Tensor entmax_any_alpha(const at::Tensor& scores, double alpha, int64_t dim) {
  return entmax_any_alpha(scores, at::scalar_tensor(alpha, scores.options().dtype(at::kDouble)),
                          dim);
}

namespace {

at::Tensor from_tensor(const at::Tensor& scores, const at::Tensor& alpha, int64_t dim) {
  return entmax_any_alpha(scores, alpha, dim);
}

at::Tensor from_scalar(const at::Tensor& scores, double alpha, int64_t dim) {
  return entmax_any_alpha(scores, alpha, dim);
}

void under_autocast(torch::Library& library) {
  library.impl("entmax_any_alpha", float32_under_autocast<from_tensor>::call);
  library.impl("entmax_any_alpha.Scalar", float32_under_autocast<from_scalar>::call);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(filigree, library) {
  library.def("entmax_any_alpha(Tensor scores, Tensor alpha, int dim=-1) -> Tensor", from_tensor);
  library.def("entmax_any_alpha.Scalar(Tensor scores, float alpha, int dim=-1) -> Tensor",
              from_scalar);
}
TORCH_LIBRARY_IMPL(filigree, AutocastCPU, library) { under_autocast(library); }
TORCH_LIBRARY_IMPL(filigree, AutocastCUDA, library) { under_autocast(library); }

}  // namespace filigree
