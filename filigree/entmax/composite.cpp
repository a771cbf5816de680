#include "filigree/entmax/composite.h"

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
#include <ATen/WrapDimUtils.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "filigree/entmax/special_functions.h"

namespace filigree::entmax_operators {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// ε = α − 1 of every row and, where the host knows it, the range of its values.
struct Epsilon {
  at::Tensor values;  ///< broadcasts over the scores, with size 1 along the reduced dimension
  double least = 0, most = kInfinity;
};

Epsilon epsilon_of(const at::Tensor& alpha, const at::Tensor& scores, int64_t dim,
                   at::ScalarType type) {
  const at::Tensor aligned = align_alpha(alpha, scores, dim).detach();
  // Half types have too few digits for α − 1.
  const at::Tensor exact = aligned.to(at::promote_types(aligned.scalar_type(), type)) - 1;
  if (!exact.device().is_cpu() || exact.numel() == 0) {
    return {exact.to(scores.device(), type)};
  }
  const double least = exact.min().item<double>(), most = exact.max().item<double>();
  TORCH_CHECK(least >= 0 && std::isfinite(most), "entmax: alpha must be at least 1, but it is ",
              (least >= 0 ? most : least) + 1);
  if (exact.dim() > 0) return {exact.to(scores.device(), type), least, most};
  return {at::full({}, least, scores.options().dtype(type)), least, most};
}

/// p before it is scaled to Σp = 1, and the threshold of the unscaled problem.
struct Solution {
  at::Tensor p, threshold;
};

at::Tensor sum_rows(const at::Tensor& x) { return x.sum(-1, /*keepdim=*/true); }

// Rows have their maximum subtracted: t ≤ 0, the largest is 0. The threshold is that of t.

Solution solve_softmax(const at::Tensor& t) {
  const at::Tensor p = t.exp();
  return {p, sum_rows(p).log()};
}

/// ε ≤ 1: p = [1 + ε (t − θ)]_+^{1/ε} with Newton's method from θ = 0 (see transforms-inl.h).
Solution solve_convex(const at::Tensor& t, const at::Tensor& epsilon, int steps) {
  const at::Tensor exponent = (1 - epsilon) / epsilon;
  const at::Tensor zero = at::zeros({}, t.options());
  at::Tensor theta = at::zeros_like(sum_rows(t));
  at::Tensor p, q;  // q = p^{1−ε}
  const auto evaluate = [&] {
    const at::Tensor x = epsilon * (t - theta);
    const at::Tensor support = x > -1;
    const at::Tensor inside = at::where(support, x, zero);
    q = at::where(support, (exponent * inside.log1p()).exp(), zero);
    p = q * (1 + inside);
  };
  for (int i = 0; i < steps; ++i) {
    evaluate();
    const at::Tensor f = sum_rows(p);
    theta = theta - f * (-epsilon * f.log()).expm1() / (epsilon * sum_rows(q));
  }
  evaluate();
  return {p, epsilon * theta - 1};
}

/// The position in each row of `sorted` (descending) of the last score t_k that is in the support
/// of `t`: Σ_i [ε (t_i − t_k)]_+^{1/ε}, which grows with k, is the sum at the threshold where t_k
/// enters, and is below 1. ε > 1.
at::Tensor last_in_support(const at::Tensor& t, const at::Tensor& sorted,
                           const at::Tensor& epsilon) {
  const int64_t n = t.size(-1);
  at::Tensor last = at::zeros_like(sum_rows(t), at::kLong);
  for (uint64_t jump = std::bit_floor(static_cast<uint64_t>(n)); jump > 0; jump /= 2) {
    const at::Tensor next = last + static_cast<int64_t>(jump);
    const at::Tensor entering = sorted.gather(-1, next.clamp_max(n - 1));
    const at::Tensor above = (epsilon * (t - entering)).clamp_min(0);
    const at::Tensor mass = sum_rows((above.log() / epsilon).exp());
    last = at::where((next < n).logical_and(mass < 1), next, last);
  }
  return last;
}

/// ε > 1. With y the probability of the smallest entry t_k of the support,
///
///   p_i = (y^ε + ε (t_i − t_k))^{1/ε},
///
/// where nothing cancels, and which is convex in y, so that Newton's method comes down to the root
/// from y = 1 / support. In logarithms, because y^ε underflows for large ε.
Solution solve_steep(const at::Tensor& t, const at::Tensor& epsilon, int steps) {
  const at::Tensor sorted = std::get<0>(t.sort(-1, /*descending=*/true));
  const at::Tensor smallest = sorted.gather(-1, last_in_support(t, sorted, epsilon));
  const at::Tensor support = t >= smallest;
  const at::Tensor zero = at::zeros({}, t.options());
  const at::Tensor log_gap = (epsilon * (t - smallest)).clamp_min(0).log();
  const double tiny = t.scalar_type() == at::kDouble ? std::numeric_limits<double>::min()
                                                     : std::numeric_limits<float>::min();
  at::Tensor log_y = -sum_rows(support).to(t.scalar_type()).log();
  at::Tensor log_p, p;
  const auto evaluate = [&] {
    log_p = at::logaddexp(epsilon * log_y, log_gap) / epsilon;
    p = at::where(support, log_p.exp(), zero);
  };
  for (int i = 0; i < steps; ++i) {
    evaluate();
    // dp_i/dy = (y / p_i)^{ε−1}, between 0 and 1, and 1 for t_k itself.
    const at::Tensor slope =
        sum_rows(at::where(support, ((epsilon - 1) * (log_y - log_p).clamp_max(0)).exp(), zero));
    log_y = (log_y.exp() - (sum_rows(p) - 1) / slope).clamp_min(tiny).log();
  }
  evaluate();
  return {p, epsilon * smallest - (epsilon * log_y).exp()};
}

/// `solution` with the rows of another where `rows` says so.
void replace(Solution& solution, const at::Tensor& rows, const Solution& other) {
  if (!solution.p.defined()) {
    solution = other;
    return;
  }
  solution.p = at::where(rows, other.p, solution.p);
  solution.threshold = at::where(rows, other.threshold, solution.threshold);
}

/// Every row by the method for its ε; methods that no row can need are left out.
Solution solve(const at::Tensor& t, const Epsilon& epsilon) {
  const int64_t n = t.size(-1);
  const int bits = t.scalar_type() == at::kDouble ? std::numeric_limits<double>::digits
                                                  : std::numeric_limits<float>::digits;
  const at::Tensor& e = epsilon.values;
  Solution solution;
  if (epsilon.least <= 1 && epsilon.most > 0) {
    // Where ε is not of this kind, any ε of this kind does.
    const at::Tensor own = at::where(e > 0, e, at::ones_like(e)).clamp_max(1);
    solution = solve_convex(t, own, newton_steps(n, std::min(epsilon.most, 1.0), bits));
  }
  if (epsilon.least == 0) replace(solution, e == 0, solve_softmax(t));
  if (epsilon.most > 1) {
    replace(solution, e > 1, solve_steep(t, e.clamp_min(1), newton_steps(n, 1, bits)));
  }
  return solution;
}

/// In the caller's order of dimensions and in `type`.
at::Tensor from_rows(const at::Tensor& rows, int64_t dim, at::ScalarType type) {
  return rows.movedim(-1, dim).to(type).contiguous();
}

/// A gradient in α's shape, type and place.
at::Tensor like_alpha(const at::Tensor& gradient, const at::Tensor& alpha) {
  return gradient.reshape(alpha.sizes()).to(alpha.device(), alpha.scalar_type());
}

}  // namespace

int newton_steps(int64_t n, double epsilon, int bits) {
  if (n <= 1) return 1;
  const double log_n = std::log(static_cast<double>(n));
  const double slope = epsilon * log_n;                                             // log A
  const double value = bits * std::log(2) + std::log(std::expm1(slope) / epsilon);  // log B
  int steps = 1;
  while (std::exp(-slope / steps) + std::exp(-value / steps) <= 1) ++steps;
  return steps;
}

Outputs forward_composite(const at::Tensor& scores, const at::Tensor& alpha, int64_t dim) {
  check_types(scores, alpha);
  dim = at::maybe_wrap_dim(dim, scores.dim());
  if (scores.dim() == 0) {
    auto [p, tau, support] = forward_composite(scores.unsqueeze(0), alpha.reshape({}), 0);
    return {p.squeeze(0), tau.squeeze(0), support.squeeze(0)};
  }
  const at::ScalarType type = compute_type(scores.scalar_type());
  Epsilon epsilon = epsilon_of(alpha, scores, dim, type);
  if (epsilon.values.dim() > 0) {  // One size for each dimension of the scores, dim at the end.
    std::vector<int64_t> shape(scores.dim() - epsilon.values.dim(), 1);
    shape.insert(shape.end(), epsilon.values.sizes().begin(), epsilon.values.sizes().end());
    epsilon.values = epsilon.values.reshape(shape).movedim(dim, -1);
  }
  const at::Tensor z = scores.detach().movedim(dim, -1).to(type);
  if (z.size(-1) == 0) {
    const at::Tensor sums = sum_rows(z).movedim(-1, dim);
    return {from_rows(z, dim, scores.scalar_type()), at::full_like(sums, kInfinity),
            at::zeros_like(sums, at::kLong)};
  }

  const at::Tensor max = z.amax(-1, /*keepdim=*/true);  // NaN if there is one
  const at::Tensor masked = max == -kInfinity;
  const at::Tensor good = (epsilon.values >= 0).logical_and(epsilon.values < kInfinity);
  const at::Tensor poisoned = max.isnan().logical_or(good.logical_not());
  const at::Tensor zero = at::zeros({}, z.options());
  // The maximum itself is 0 even if it is infinite.
  const at::Tensor t = at::where((z == max).logical_or(poisoned), zero, z - max);
  const Solution solution = solve(t, epsilon);

  at::Tensor p = (solution.p / sum_rows(solution.p)).masked_fill(masked, 0);
  p = p.masked_fill(poisoned, kNaN);
  const at::Tensor shift = at::where(epsilon.values == 0, max, epsilon.values * max);
  at::Tensor tau = (solution.threshold + shift).masked_fill(masked, kInfinity);
  tau = tau.masked_fill(poisoned, kNaN);
  const at::Tensor support = sum_rows(p > 0).masked_fill(poisoned, z.size(-1));
  return {from_rows(p, dim, scores.scalar_type()), tau.movedim(-1, dim), support.movedim(-1, dim)};
}

// See backward.cpp for the formulas.
std::tuple<at::Tensor, at::Tensor> backward_composite(const at::Tensor& p_given,
                                                      const at::Tensor& dp_given,
                                                      const at::Tensor& alpha, int64_t dim,
                                                      bool with_alpha) {
  if (p_given.dim() == 0) {  // The only entry of its row: p = 1 whatever the score and α.
    return {at::zeros_like(p_given), at::zeros_like(alpha)};
  }
  dim = at::maybe_wrap_dim(dim, p_given.dim());
  const at::ScalarType type = compute_type(p_given.scalar_type());
  const at::Tensor all = p_given.detach().to(type);
  const at::Tensor epsilon = epsilon_of(alpha, all, dim, type).values;
  const auto sum = [&](const at::Tensor& x) { return x.sum(dim, /*keepdim=*/true); };
  const at::Tensor zero = at::zeros({}, all.options());
  // Cut where s of a tiny p would make the sums overflow (α > 2).
  const double most_log = type == at::kDouble ? 600 : 60;
  const double smallest =
      type == at::kDouble ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();

  const at::Tensor support = all > 0;
  const at::Tensor p = at::where(support, all.clamp_min(smallest), at::ones({}, all.options()));
  const at::Tensor g = at::where(support, dp_given.detach().to(type), zero);
  const at::Tensor l = -p.log();
  const at::Tensor s = at::where(support, ((epsilon - 1) * l).clamp_max(most_log).exp(), zero);
  const at::Tensor total = sum(s);
  const at::Tensor mean =
      at::where(total > 0, sum(s * g) / total, zero).masked_fill(sum(all).isnan(), kNaN);
  const at::Tensor centred = at::where(support, g - mean, zero);
  const at::Tensor dz = (s * centred).masked_fill(mean.isnan(), kNaN);
  at::Tensor dalpha = at::zeros_like(alpha);
  if (with_alpha) {
    const at::Tensor x = epsilon * l;
    const at::Tensor far = (s - p * (1 + x)) / (epsilon * epsilon);
    const at::Tensor near = p * l * l * phi2_series(x.clamp_max(1));
    const at::Tensor weight = at::where(x > 1, far, near);
    const at::Tensor rows = -sum(weight * centred).masked_fill(mean.isnan(), kNaN);
    const at::Tensor aligned = align_alpha(alpha, all, dim);
    dalpha = like_alpha(at::sum_to(rows, aligned.sizes()), alpha);
  }
  return {dz.to(p_given.scalar_type()).contiguous(), dalpha};
}

Outputs forward_meta(const at::Tensor& scores, const at::Tensor& alpha, int64_t dim) {
  check_types(scores, alpha);
  const at::Tensor p = at::empty_like(scores, scores.options(), at::MemoryFormat::Contiguous);
  const at::Tensor row = scores.dim() == 0 ? scores : scores.sum(dim, /*keepdim=*/true);
  return {p, at::empty_like(row, row.options().dtype(compute_type(scores.scalar_type()))),
          at::empty_like(row, row.options().dtype(at::kLong))};
}

std::tuple<at::Tensor, at::Tensor> backward_meta(const at::Tensor& p, const at::Tensor&,
                                                 const at::Tensor& alpha, int64_t, bool) {
  return {at::empty_like(p, p.options(), at::MemoryFormat::Contiguous),
          at::empty_like(alpha, alpha.options(), at::MemoryFormat::Contiguous)};
}

}  // namespace filigree::entmax_operators
