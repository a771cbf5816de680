#include "filigree/model/linear.h"

#include <torch/torch.h>

#include "filigree/model/kernels/matrix_product.h"

namespace filigree::model {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

template <typename T>
Matrix<T> matrix_of(const at::Tensor& x) {
  return {x.data_ptr<T>(), x.size(0), x.size(1), x.size(1)};
}

// x weightᵀ + bias, above 0 if `relu`.
at::Tensor affine(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, bool relu,
                  Precision precision) {
  const at::Tensor y = torch::empty({x.size(0), weight.size(0)}, x.options());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "linear", [&] {
    const Strips<scalar_t> strips(matrix_of<scalar_t>(weight).transposed(), precision);
    multiply(matrix_of<scalar_t>(x), strips, y.data_ptr<scalar_t>(), y.size(1),
             {.bias = bias.data_ptr<scalar_t>(), .relu = relu});
  });
  return y;
}

struct Gradients {
  at::Tensor x, weight, bias;
};

// Those of affine() without ReLU. `where` (may be undefined): d_x is 0 where this is not above 0.
Gradients gradients_of(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& d_y,
                       bool with_x, Precision precision, const at::Tensor& where = {}) {
  Gradients d{with_x ? torch::empty_like(x) : at::Tensor(), torch::empty_like(weight),
              torch::zeros({weight.size(0)}, weight.options())};
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "linear_backward", [&] {
    Strips<scalar_t> strips(matrix_of<scalar_t>(x), precision);
    multiply(matrix_of<scalar_t>(d_y).transposed(), strips, d.weight.data_ptr<scalar_t>(),
             weight.size(1), {}, d.bias.data_ptr<scalar_t>());
    if (!with_x) return;
    strips.fill(matrix_of<scalar_t>(weight), precision);
    multiply(matrix_of<scalar_t>(d_y), strips, d.x.data_ptr<scalar_t>(), x.size(1),
             {.where = where.defined() ? where.data_ptr<scalar_t>() : nullptr});
  });
  return d;
}

Precision precision_of(AutogradContext* ctx) {
  return static_cast<Precision>(ctx->saved_data["precision"].toInt());
}

class LinearFunction : public torch::autograd::Function<LinearFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, Precision precision) {
    const at::Tensor input = x.contiguous();
    ctx->save_for_backward({input, weight});
    ctx->saved_data["with_x"] = x.requires_grad();
    ctx->saved_data["precision"] = static_cast<int64_t>(precision);
    return affine(input, weight, bias, false, precision);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const Gradients d = gradients_of(saved[0], saved[1], gradients[0].contiguous(),
                                     ctx->saved_data["with_x"].toBool(), precision_of(ctx));
    return {d.x, d.weight, d.bias, {}};
  }
};

class FeedForwardFunction : public torch::autograd::Function<FeedForwardFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& inner,
                            const at::Tensor& inner_bias, const at::Tensor& outer,
                            const at::Tensor& outer_bias, Precision precision) {
    const at::Tensor input = x.contiguous();
    const at::Tensor hidden = affine(input, inner, inner_bias, true, precision);
    ctx->save_for_backward({input, inner, hidden, outer});
    ctx->saved_data["with_x"] = x.requires_grad();
    ctx->saved_data["precision"] = static_cast<int64_t>(precision);
    return affine(hidden, outer, outer_bias, false, precision);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &inner = saved[1], &hidden = saved[2], &outer = saved[3];
    const Precision precision = precision_of(ctx);
    const Gradients of_outer =
        gradients_of(hidden, outer, gradients[0].contiguous(), true, precision, hidden);
    const Gradients of_inner =
        gradients_of(x, inner, of_outer.x, ctx->saved_data["with_x"].toBool(), precision);
    return {of_inner.x, of_inner.weight, of_inner.bias, of_outer.weight, of_outer.bias, {}};
  }
};

}  // namespace

bool has_fused_products(const at::Tensor& x, Precision precision) {
  if (!x.is_cpu()) return false;
  return precision != Precision::kBfloat16 ||
         (has_tile_products(precision) && x.scalar_type() == at::kFloat);
}

at::Tensor Linear::operator()(const at::Tensor& x, Precision precision) const {
  if (!has_fused_products(x, precision)) return linear(x, weight, bias, precision);
  return LinearFunction::apply(x, weight, bias, precision);
}

at::Tensor feed_forward(const Linear& inner, const Linear& outer, const at::Tensor& x,
                        Precision precision) {
  if (!has_fused_products(x, precision)) {
    return outer(torch::relu(inner(x, precision)), precision);
  }
  return FeedForwardFunction::apply(x, inner.weight, inner.bias, outer.weight, outer.bias,
                                    precision);
}

}  // namespace filigree::model
