// The loss in tensor operations; loss_kernels.cpp has the formulas.
#include <ATen/ATen.h>

#include <limits>

#include "filigree/entmax/loss_operators.h"
#include "filigree/entmax/operators.h"
#include "filigree/entmax/special_functions.h"

namespace filigree::entmax_operators {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// p on its support and 1 off it, where log p = 0 makes every term below 0.
at::Tensor on_support(const at::Tensor& p) { return at::where(p > 0, p, at::ones_like(p)); }

// H and −α ∂H/∂α − H of every row share l = −log p and x = εl.
struct EntropyTerms {
  at::Tensor p, l, alpha, x;
  EntropyTerms(const at::Tensor& given, const at::Tensor& given_alpha)
      : p(on_support(given)),
        l(-p.log()),
        alpha(given_alpha.to(p.scalar_type())),
        x((alpha - 1) * l) {}
  at::Tensor row_alpha() const { return alpha.dim() > 0 ? alpha.squeeze(-1) : alpha; }
};

// y, with nothing for rows whose p is 0 throughout: those that are ignored or masked.
at::Tensor target_distribution(const at::Tensor& p, const at::Tensor& target,
                               double label_smoothing) {
  const at::Tensor live = (p != 0).any(-1, /*keepdim=*/true);
  const at::Tensor index = target.clamp_min(0).unsqueeze(-1);
  at::Tensor y = at::zeros_like(p).scatter(-1, index, 1 - label_smoothing);
  if (label_smoothing > 0) {
    const at::Tensor unmasked = at::signbit(p).logical_not().to(p.scalar_type());
    y = y + label_smoothing * unmasked / unmasked.sum(-1, true).clamp_min(1);
  }
  return at::where(live, y, at::zeros_like(y));
}

}  // namespace

at::Tensor entropy(const at::Tensor& p, const at::Tensor& alpha) {
  const EntropyTerms terms(p, alpha);
  return (terms.p * terms.l * psi(terms.x)).sum(-1) / terms.row_alpha();
}

at::Tensor entropy_slope(const at::Tensor& p, const at::Tensor& alpha) {
  const EntropyTerms terms(p, alpha);
  const at::Tensor a = terms.row_alpha();
  const at::Tensor pl = terms.p * terms.l;
  return -((pl * terms.l * chi(terms.x)).sum(-1) + (pl * psi(terms.x)).sum(-1) / a) / a;
}

LossOutputs loss_composite(const at::Tensor& logits, const at::Tensor& target,
                           const at::Tensor& alpha, double label_smoothing, bool keep_p,
                           bool with_alpha) {
  const at::Tensor z = logits.detach();
  const auto nothing = [&](at::ScalarType type) { return at::empty({0}, z.options().dtype(type)); };
  if (z.numel() == 0) {
    return {at::zeros(target.sizes(), z.options()), at::zeros_like(z),
            at::zeros(target.sizes(), z.options().dtype(at::kDouble))};
  }
  const at::Tensor fixed = alpha.detach();
  const at::Tensor zero = at::zeros_like(z);
  const at::Tensor ignored = (target < 0).unsqueeze(-1), masked = z == -kInfinity;
  at::Tensor p = std::get<0>(call_forward(z, fixed, -1));
  p = at::where(ignored, zero, p);
  if (label_smoothing > 0) p = at::where(masked.logical_and(ignored.logical_not()), -zero, p);
  const at::Tensor max = z.amax(-1, /*keepdim=*/true);
  const at::Tensor t = at::where(z == max, zero, z - max);
  at::Tensor value = at::where(p > 0, p * t, zero).sum(-1) + entropy(p, fixed);
  if (label_smoothing > 0) {
    const at::Tensor unmasked = masked.logical_not().sum(-1);
    value = value - label_smoothing * at::where(masked, zero, t).sum(-1) / unmasked;
  }
  if (label_smoothing < 1) {
    const at::Tensor of_target = t.gather(-1, target.clamp_min(0).unsqueeze(-1)).squeeze(-1);
    value = at::where(of_target == -kInfinity, at::full_like(value, kInfinity),
                      value - (1 - label_smoothing) * of_target);
  }
  const at::Tensor dead = ignored.logical_or(max == -kInfinity).squeeze(-1);
  // NaN where the row has one, 0 elsewhere: its p does not show in sums over the support.
  const at::Tensor nan = p.sum(-1) * 0;
  const auto settle = [&](const at::Tensor& x) {
    return at::where(dead, at::zeros_like(x), x) + nan;
  };
  value = settle(value);
  at::Tensor dalpha = nothing(at::kDouble);
  if (with_alpha) dalpha = settle(entropy_slope(p, fixed)).to(at::kDouble);
  return {value, keep_p ? p : nothing(z.scalar_type()), dalpha};
}

at::Tensor loss_backward_composite(const at::Tensor& dloss, const at::Tensor& p,
                                   const at::Tensor& target, double label_smoothing) {
  if (p.numel() == 0) return at::zeros_like(p);
  return dloss.to(p.scalar_type()).unsqueeze(-1) *
         (p - target_distribution(p, target, label_smoothing));
}

}  // namespace filigree::entmax_operators
