#include "filigree/model/add_norm.h"

#include <torch/torch.h>

#include "filigree/model/composite.h"
#include "filigree/model/kernels/layer_norm.h"

namespace filigree::model {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

template <typename T>
AddNorm<T> shape_of(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                    double dropout, int64_t key) {
  return {x.size(0),         x.size(1), weight.data_ptr<T>(),      bias.data_ptr<T>(),
          kLayerNormEpsilon, dropout,   static_cast<uint64_t>(key)};
}

template <typename T>
T* data_or_null(const at::Tensor& x) {
  return x.defined() ? x.data_ptr<T>() : nullptr;
}

// Without a branch, which an autograd function cannot take as an undefined tensor, it is the plain
// layer norm.
class AddNormFunction : public torch::autograd::Function<AddNormFunction> {
 public:
  static variable_list forward(AutogradContext* ctx, const at::Tensor& residual,
                               const at::Tensor& weight, const at::Tensor& bias,
                               const c10::optional<at::Tensor>& branch, double dropout,
                               int64_t key) {
    const at::Tensor x = residual.contiguous();
    const at::Tensor added = branch ? branch->contiguous() : at::Tensor();
    const at::Tensor sum = branch ? torch::empty_like(x) : x;
    const at::Tensor normed = torch::empty_like(x);
    const at::Tensor statistics = torch::empty({x.size(0), 2}, x.options());
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "add_norm", [&] {
      add_norm(shape_of<scalar_t>(x, weight, bias, dropout, key), data_or_null<scalar_t>(added),
               x.data_ptr<scalar_t>(), sum.data_ptr<scalar_t>(), normed.data_ptr<scalar_t>(),
               statistics.data_ptr<scalar_t>());
    });
    ctx->set_materialize_grads(false);
    ctx->save_for_backward({sum, statistics, weight, bias});
    ctx->saved_data["branch"] = branch.has_value();
    ctx->saved_data["dropout"] = dropout;
    ctx->saved_data["key"] = key;
    if (!branch) return {normed};
    return {normed, sum};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &sum = saved[0], &statistics = saved[1], &weight = saved[2], &bias = saved[3];
    const bool branch = ctx->saved_data["branch"].toBool();
    const double dropout = ctx->saved_data["dropout"].toDouble();
    const at::Tensor d_normed =
        gradients[0].defined() ? gradients[0].contiguous() : torch::zeros_like(sum);
    const at::Tensor d_sum =
        branch && gradients[1].defined() ? gradients[1].contiguous() : at::Tensor();
    const at::Tensor d_residual = torch::empty_like(sum);
    at::Tensor d_branch;
    if (branch) d_branch = dropout > 0 ? torch::empty_like(sum) : d_residual;
    const at::Tensor d_weight = torch::zeros_like(weight), d_bias = torch::zeros_like(bias);
    AT_DISPATCH_FLOATING_TYPES(sum.scalar_type(), "add_norm_backward", [&] {
      add_norm_backward(
          shape_of<scalar_t>(sum, weight, bias, dropout, ctx->saved_data["key"].toInt()),
          sum.data_ptr<scalar_t>(), statistics.data_ptr<scalar_t>(), d_normed.data_ptr<scalar_t>(),
          data_or_null<scalar_t>(d_sum), dropout > 0 ? data_or_null<scalar_t>(d_branch) : nullptr,
          d_residual.data_ptr<scalar_t>(), d_weight.data_ptr<scalar_t>(),
          d_bias.data_ptr<scalar_t>());
    });
    return {d_residual, d_weight, d_bias, d_branch, {}, {}};
  }
};

}  // namespace

at::Tensor LayerNorm::operator()(const at::Tensor& x) const {
  if (!x.is_cpu()) return composite::layer_norm(x, *this);
  return AddNormFunction::apply(x, weight, bias, c10::nullopt, 0.0, int64_t{0})[0];
}

Normed add_norm(const at::Tensor& branch, const at::Tensor& residual, const LayerNorm& norm,
                double dropout, uint64_t dropout_key) {
  if (!branch.is_cpu()) {
    return composite::add_norm(branch, residual, norm, dropout, dropout_key);
  }
  const variable_list out =
      AddNormFunction::apply(residual, norm.weight, norm.bias, c10::optional<at::Tensor>(branch),
                             dropout, static_cast<int64_t>(dropout_key));
  return {out[1], out[0]};
}

}  // namespace filigree::model
