#include "filigree/entmax/budget.h"

#include <torch/library.h>

#include "filigree/entmax/autocast.h"
#include "filigree/entmax/centred.h"
#include "filigree/entmax/operators.h"

namespace filigree {
namespace {

using namespace entmax_operators;

// Σp is linear in τ between the points where an entry leaves 0 (τ = u) or reaches 1 (τ = u − 1).
// They are visited downwards, until the next one would exceed the budget.
at::Tensor threshold(const Centred& row, const at::Tensor& budget) {
  const at::NoGradGuard no_gradient;
  const int64_t dim = row.dim;
  const at::Tensor last = row.scores.amin(dim, true) - 2;  // below every point: absent entries
  const at::Tensor leaves = at::where(row.present, row.scores, last);
  const at::Tensor reaches = at::where(row.present, row.scores - 1, last);
  const at::Tensor sign = row.present.to(at::kDouble);
  const auto [points, order] = at::cat({leaves, reaches}, dim).sort(dim, /*descending=*/true);
  const at::Tensor slope = at::cat({sign, -sign}, dim).gather(dim, order).cumsum(dim);
  const int64_t count = points.size(dim);
  const at::Tensor gap = points.narrow(dim, 0, count - 1) - points.narrow(dim, 1, count - 1);
  const at::Tensor rise = (slope.narrow(dim, 0, count - 1) * gap).cumsum(dim);
  const at::Tensor total = at::cat({at::zeros_like(last), rise}, dim);

  const at::Tensor index = ((total <= budget).sum(dim, true) - 1).clamp_min(0);
  const at::Tensor here = slope.gather(dim, index);
  const at::Tensor missing = (budget - total.gather(dim, index)) / here.clamp_min(1);
  return points.gather(dim, index) - at::where(here > 0, missing, at::zeros_like(missing));
}

}  // namespace

at::Tensor budget(const at::Tensor& scores, const at::Tensor& total, int64_t dim) {
  TORCH_CHECK(at::isFloatingType(scores.scalar_type()),
              "budget: scores must be floating point, but they are ", scores.scalar_type());
  at::Tensor aligned = align_alpha(total, scores, dim, "budget").to(at::kDouble);
  if (scores.numel() == 0) return scores.clone();
  if (scores.dim() == 0) {
    return filigree::budget(scores.unsqueeze(0), total.reshape({}), 0).squeeze(0);
  }
  const Centred row = centre(scores, dim);
  aligned = at::minimum(aligned, row.sum(row.present.to(at::kDouble))).clamp_min(0);

  const at::Tensor start = threshold(row, aligned);
  const at::Tensor x = row.scores.detach() - start;
  const at::Tensor full = (row.present & (x >= 1)).to(at::kDouble);
  const at::Tensor between = row.present & (x > 0) & (x < 1);
  const at::Tensor count = row.sum(between.to(at::kDouble));
  const auto entries = [&](const at::Tensor& tau) {
    return at::where(between, row.scores - tau, full);
  };
  // One Newton step that autograd sees: with the entries between 0 and 1 known, τ is linear.
  const at::Tensor excess = (row.sum(entries(start)) - aligned) / count.clamp_min(1);
  const at::Tensor tau = start + at::where(count > 0, excess, at::zeros_like(excess));
  return row.finish(entries(tau), scores.scalar_type());
}

at::Tensor budget(const at::Tensor& scores, double total, int64_t dim) {
  return filigree::budget(scores, at::scalar_tensor(total, scores.options().dtype(at::kDouble)),
                          dim);
}

namespace {

at::Tensor from_tensor(const at::Tensor& scores, const at::Tensor& total, int64_t dim) {
  return budget(scores, total, dim);
}

at::Tensor from_scalar(const at::Tensor& scores, double total, int64_t dim) {
  return budget(scores, total, dim);
}

void under_autocast(torch::Library& library) {
  library.impl("budget", float32_under_autocast<from_tensor>::call);
  library.impl("budget.Scalar", float32_under_autocast<from_scalar>::call);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(filigree, library) {
  library.def("budget(Tensor scores, Tensor budget, int dim=-1) -> Tensor", from_tensor);
  library.def("budget.Scalar(Tensor scores, float budget, int dim=-1) -> Tensor", from_scalar);
}
TORCH_LIBRARY_IMPL(filigree, AutocastCPU, library) { under_autocast(library); }
TORCH_LIBRARY_IMPL(filigree, AutocastCUDA, library) { under_autocast(library); }

}  // namespace filigree
