// The gradients of the loss as autograd functions. p is a second output of the loss, so that what
// is made from it in a backward leads back to logits and alpha: dz = dloss (p − y) and
// dα = Σ dloss ∂H_α(p)/∂α are then differentiable like any other function of p.
#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
#include <torch/csrc/autograd/custom_function.h>

#include "filigree/entmax/loss_operators.h"
#include "filigree/entmax/operators.h"

namespace filigree::entmax_operators {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

class EntmaxLossBackward : public torch::autograd::Function<EntmaxLossBackward> {
 public:
  static Variable forward(AutogradContext* context, const Variable& dloss, const Variable& p,
                          const Variable& target, double label_smoothing) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward({dloss, p, target});
    context->saved_data["label_smoothing"] = label_smoothing;
    return call_loss_backward(dloss, p, target, label_smoothing);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Variable &dloss = saved[0], &p = saved[1], &u = gradients[0];
    const Variable residual =
        call_loss_backward(at::ones_like(dloss), p, saved[2],
                           context->saved_data["label_smoothing"].toDouble());  // p − y
    return {(u * residual).sum(-1), u * dloss.unsqueeze(-1), {}, {}};
  }
};

Variable plus(const Variable& a, const Variable& b) { return a.defined() ? a + b : b; }

class EntmaxLoss : public torch::autograd::Function<EntmaxLoss> {
 public:
  static variable_list forward(AutogradContext* context, const Variable& logits,
                               const Variable& target, const Variable& alpha,
                               double label_smoothing) {
    at::AutoDispatchBelowADInplaceOrView below;
    const bool with_alpha = alpha.requires_grad();
    auto [loss, p, slope] =
        call_loss(logits, target, alpha, label_smoothing, /*keep_p=*/true, with_alpha);
    context->save_for_backward({p, target, alpha, slope});
    context->saved_data["label_smoothing"] = label_smoothing;
    context->saved_data["with_alpha"] = with_alpha;
    context->set_materialize_grads(false);
    return {loss, p};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Variable &p = saved[0], &target = saved[1], &alpha = saved[2];
    const bool with_alpha = context->saved_data["with_alpha"].toBool();
    Variable dz, dalpha;
    if (const Variable& dloss = gradients[0]; dloss.defined()) {
      dz = call_loss_backward(dloss, p, target, context->saved_data["label_smoothing"].toDouble());
      if (with_alpha) {
        // The kernel's number suffices unless somebody wants its derivative.
        const Variable slope = at::GradMode::is_enabled() ? entropy_slope(p, alpha) : saved[3];
        dalpha = at::sum_to((dloss * slope).unsqueeze(-1), alpha.sizes()).to(alpha.scalar_type());
      }
    }
    if (const Variable& dp = gradients[1]; dp.defined()) {
      const auto [through_z, through_alpha] = call_backward(p, dp, alpha, -1, with_alpha);
      dz = plus(dz, through_z);
      if (with_alpha) dalpha = plus(dalpha, through_alpha);
    }
    return {dz, {}, dalpha, {}};
  }
};

}  // namespace

LossOutputs loss_autograd(const at::Tensor& logits, const at::Tensor& target,
                          const at::Tensor& alpha, double label_smoothing, bool keep_p,
                          bool with_alpha) {
  if (at::GradMode::is_enabled() && (logits.requires_grad() || alpha.requires_grad())) {
    const variable_list result = EntmaxLoss::apply(logits, target, alpha, label_smoothing);
    return {result[0], result[1], Variable()};
  }
  at::AutoDispatchBelowADInplaceOrView below;
  return call_loss(logits, target, alpha, label_smoothing, keep_p, with_alpha);
}

at::Tensor loss_backward_autograd(const at::Tensor& dloss, const at::Tensor& p,
                                  const at::Tensor& target, double label_smoothing) {
  return EntmaxLossBackward::apply(dloss, p, target, label_smoothing);
}

}  // namespace filigree::entmax_operators
