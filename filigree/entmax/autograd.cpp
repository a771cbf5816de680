// The gradients of α-entmax as autograd functions. The first derivatives are operators; their
// own derivative is written in tensor operations from p and α alone. With, on the support,
//
//   ε = α − 1,  l = −log p,  x = εl,  s = p^{1−ε},  w = p l² φ(x),  φ(x) = (eˣ − 1 − x) / x²,
//   δ = Σ s dp / Σ s
//
// the backward is dz = s (dp − δ) and dα = −Σ w (dp − δ); all of it is 0 off the support.
#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
#include <ATen/WrapDimUtils.h>
#include <torch/csrc/autograd/custom_function.h>

#include <limits>

#include "filigree/entmax/operators.h"
#include "filigree/entmax/special_functions.h"

namespace filigree::entmax_operators {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

// The gradient of ⟨u, dz⟩ + ⟨v, dα⟩ with respect to p, dp and α. u has the shape of p, v that of
// alpha; either may be undefined, which stands for 0.
variable_list backward_of_backward(const at::Tensor& p_given, const at::Tensor& dp_given,
                                   const at::Tensor& alpha, int64_t dim, const at::Tensor& u_given,
                                   const at::Tensor& v_given) {
  const at::ScalarType type = compute_type(p_given.scalar_type());
  dim = at::maybe_wrap_dim(dim, p_given.dim());
  const at::Tensor all = p_given.to(type), dp = dp_given.to(type);
  const at::Tensor aligned = align_alpha(alpha, all, dim);
  const at::Tensor epsilon = aligned.to(type) - 1;
  const auto sum = [&](const at::Tensor& t) { return t.sum(dim, /*keepdim=*/true); };

  const at::Tensor support = all > 0;
  const at::Tensor p = at::where(support, all, at::ones_like(all));  // so that log p is finite
  const at::Tensor on = support.to(type);
  const at::Tensor l = -p.log();
  const at::Tensor x = epsilon * l;
  const at::Tensor s = on * (x - l).exp();
  const at::Tensor w = on * p * l * l * phi2(x);
  const at::Tensor total = sum(s).clamp_min(std::numeric_limits<float>::min());
  const at::Tensor centred = dp - sum(s * dp) / total;

  const at::Tensor u = u_given.defined() ? u_given.to(type) : at::zeros_like(all);
  const at::Tensor v = v_given.defined() ? v_given.to(p.device(), type).reshape(aligned.sizes())
                                         : at::zeros_like(epsilon);
  // ∂/∂s is c·pull and ∂/∂w is −v·c with c = dp − δ; the rest is the chain rule through s and w.
  const at::Tensor pull = u - sum(s * u) / total + v * sum(w) / total;
  const at::Tensor growth = on * x.exp();  // s / p
  const at::Tensor ds_dp = (1 - epsilon) * growth;
  const at::Tensor dw_dp = on * l * (l * phi2(x) - phi1(x));
  const at::Tensor dw_depsilon = on * p * l * l * l * phi2_derivative(x);
  const at::Tensor gradient_p = centred * (pull * ds_dp - v * dw_dp);
  const at::Tensor gradient_dp = s * pull - v * w;
  const at::Tensor gradient_alpha =
      at::sum_to(centred * (pull * s * l - v * dw_depsilon), aligned.sizes());
  return {gradient_p.to(p_given.scalar_type()), gradient_dp.to(dp_given.scalar_type()),
          gradient_alpha.reshape(alpha.sizes()).to(alpha.device(), alpha.scalar_type())};
}

class EntmaxBackward : public torch::autograd::Function<EntmaxBackward> {
 public:
  static variable_list forward(AutogradContext* context, const Variable& p, const Variable& dp,
                               const Variable& alpha, int64_t dim, bool with_alpha) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward({p, dp, alpha});
    context->saved_data["dim"] = dim;
    context->set_materialize_grads(false);
    auto [dz, dalpha] = call_backward(p, dp, alpha, dim, with_alpha);
    return {dz, dalpha};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    if (!gradients[0].defined() && !gradients[1].defined()) return variable_list(5);
    variable_list result =
        backward_of_backward(saved[0], saved[1], saved[2], context->saved_data["dim"].toInt(),
                             gradients[0], gradients[1]);
    result.resize(5);
    return result;
  }
};

class Entmax : public torch::autograd::Function<Entmax> {
 public:
  static variable_list forward(AutogradContext* context, const Variable& scores,
                               const Variable& alpha, int64_t dim) {
    at::AutoDispatchBelowADInplaceOrView below;
    auto [p, tau, support] = call_forward(scores, alpha, dim);
    context->save_for_backward({p, alpha});
    context->saved_data["dim"] = dim;
    context->saved_data["with_alpha"] = alpha.requires_grad();
    context->mark_non_differentiable({tau, support});
    context->set_materialize_grads(false);
    return {p, tau, support};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    if (!gradients[0].defined()) return variable_list(3);
    const variable_list saved = context->get_saved_variables();
    const bool with_alpha = context->saved_data["with_alpha"].toBool();
    auto [dz, dalpha] = call_backward(saved[0], gradients[0], saved[1],
                                      context->saved_data["dim"].toInt(), with_alpha);
    return {dz, with_alpha ? dalpha : Variable(), Variable()};
  }
};

}  // namespace

Outputs forward_autograd(const at::Tensor& scores, const at::Tensor& alpha, int64_t dim) {
  const variable_list result = Entmax::apply(scores, alpha, dim);
  return {result[0], result[1], result[2]};
}

std::tuple<at::Tensor, at::Tensor> backward_autograd(const at::Tensor& p, const at::Tensor& dp,
                                                     const at::Tensor& alpha, int64_t dim,
                                                     bool with_alpha) {
  const variable_list result = EntmaxBackward::apply(p, dp, alpha, dim, with_alpha);
  return {result[0], result[1]};
}

}  // namespace filigree::entmax_operators
