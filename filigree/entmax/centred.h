// What the maps in plain tensor operations (normmax, budget, α-entmax below α = 1) have in common:
// they are computed in float64 on any device, and derivatives of every order that is asked for come
// from autograd.
#pragma once

#include <ATen/ATen.h>
#include <ATen/WrapDimUtils.h>

#include <limits>

namespace filigree::entmax_operators {

/// Scores less the maximum of their row, with what is not a number taken care of.
struct Centred {
  at::Tensor scores;   // float64, at most 0; 0 where absent
  at::Tensor present;  // bool: not masked by −inf; in a row with +inf, only the entries with +inf
  at::Tensor masked;   // bool, size 1 along dim: the row is masked throughout
  at::Tensor nan;      // bool, size 1 along dim: the row holds a NaN
  int64_t dim;

  /// The map of the scores from its values: absent entries and masked rows are 0, NaN rows NaN.
  at::Tensor finish(const at::Tensor& p, at::ScalarType type) const {
    return at::where(present, p, at::zeros_like(p))
        .masked_fill(masked, 0)
        .masked_fill(nan, std::numeric_limits<double>::quiet_NaN())
        .to(type);
  }

  at::Tensor sum(const at::Tensor& values) const { return values.sum(dim, /*keepdim=*/true); }
};

/// `scores` must not be empty. Rows that finish() overwrites count as all 0 here.
inline Centred centre(const at::Tensor& scores, int64_t dim) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  dim = at::maybe_wrap_dim(dim, scores.dim());
  const at::Tensor z = scores.to(at::kDouble);
  const at::Tensor top = z.detach().amax(dim, /*keepdim=*/true);
  const at::Tensor masked = top == -kInfinity, nan = top.isnan(), infinite = top == kInfinity;
  const at::Tensor finite = top.isfinite();
  const at::Tensor present = at::where(infinite, z == kInfinity, ~finite | (z > -kInfinity));
  const at::Tensor centred = at::where(finite & present, z - top, at::zeros_like(z));
  return {centred, present, masked, nan, dim};
}

/// The root of the function behind `step`, a Newton step that converges from `start`. The last two
/// steps are seen by autograd, and each doubles the order of what is exact about its root: the
/// first and second derivatives of the result are those of the root.
template <typename Step>
at::Tensor newton(at::Tensor root, Step&& step) {
  constexpr int kMostSteps = 200;
  {
    const at::NoGradGuard no_gradient;
    for (int i = 0; i < kMostSteps; ++i) {
      const at::Tensor next = step(root);
      const at::Tensor moves = (next - root).abs() > 1e-15 * (1 + root.abs());
      root = next;
      if (!moves.any().item<bool>()) break;
    }
  }
  return step(step(root));
}

}  // namespace filigree::entmax_operators
