#include "filigree/entmax/entmax_attention.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <cmath>
#include <limits>

#include "filigree/entmax/attention_masks.h"
#include "filigree/entmax/autocast.h"
#include "filigree/entmax/entmax.h"
#include "filigree/entmax/head_attention.h"
#include "filigree/entmax/operators.h"

namespace filigree {
namespace {

using namespace entmax_operators;
using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

enum class Weights : int64_t { kNone, kDense, kRows };

// Throws on what does not fit; returns the options with the scale filled in.
EntmaxAttentionOptions checked(const at::Tensor& query, const at::Tensor& key,
                               const at::Tensor& value, const at::Tensor& alpha,
                               EntmaxAttentionOptions options) {
  check_types(query, alpha);
  TORCH_CHECK(query.dim() == 4 && key.dim() == 4 && value.dim() == 4,
              "entmax_attention: query, key and value must be [batch, head, length, d], not ",
              query.sizes(), ", ", key.sizes(), ", ", value.sizes());
  TORCH_CHECK(
      key.scalar_type() == query.scalar_type() && value.scalar_type() == query.scalar_type(),
      "entmax_attention: query, key and value must have one type, but they are ",
      query.scalar_type(), ", ", key.scalar_type(), ", ", value.scalar_type());
  const auto fits = [&](const at::Tensor& t) {
    return t.size(0) == query.size(0) && t.size(1) == query.size(1) && t.size(2) == key.size(2);
  };
  TORCH_CHECK(fits(key) && fits(value) && key.size(3) == query.size(3), "entmax_attention: query ",
              query.sizes(), ", key ", key.sizes(), " and value ", value.sizes(),
              " do not fit together");
  TORCH_CHECK(alpha.numel() == 1 || alpha.numel() == query.size(1),
              "entmax_attention: alpha must be one number or one per head (", query.size(1),
              "), but its shape is ", alpha.sizes());
  TORCH_CHECK(options.scale >= 0 && std::isfinite(options.scale),
              "entmax_attention: scale must be positive, not ", options.scale);
  TORCH_CHECK(options.dropout >= 0 && options.dropout < 1,
              "entmax_attention: dropout must be in [0, 1), not ", options.dropout);
  if (options.key_lengths.defined()) {
    const at::Tensor& lengths = options.key_lengths;
    TORCH_CHECK(!at::isFloatingType(lengths.scalar_type()) && lengths.dim() == 1 &&
                    lengths.size(0) == query.size(0),
                "entmax_attention: key_lengths must be one integer per sequence (", query.size(0),
                "), but they are ", lengths.scalar_type(), " of shape ", lengths.sizes());
  }
  if (options.bias.defined()) {
    const at::Tensor& bias = options.bias;
    const int64_t shape[] = {query.size(0), query.size(1), query.size(2), key.size(2)};
    bool broadcasts = bias.dim() <= 4 && at::isFloatingType(bias.scalar_type());
    for (int64_t i = 1; broadcasts && i <= bias.dim(); ++i) {
      broadcasts = bias.size(-i) == 1 || bias.size(-i) == shape[4 - i];
    }
    TORCH_CHECK(
        broadcasts, "entmax_attention: bias must be floating point and broadcast over the scores ",
        at::IntArrayRef(shape), ", but it is ", bias.scalar_type(), " of shape ", bias.sizes());
  }
  if (options.scale == 0) {
    options.scale = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, query.size(3))));
  }
  return options;
}

// alpha as [heads, 1, 1] or one number.
at::Tensor per_head(const at::Tensor& alpha) {
  return alpha.numel() == 1 ? alpha.reshape({}) : alpha.reshape({-1, 1, 1});
}

at::Tensor with_rows_in_one_piece(const at::Tensor& tensor, at::ScalarType type) {
  const at::Tensor converted = tensor.detach().to(type);
  return converted.stride(-1) == 1 || converted.size(-1) <= 1 ? converted : converted.contiguous();
}

HeadTensors head_tensors(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                         const at::Tensor& alpha, const EntmaxAttentionOptions& options) {
  const at::ScalarType type = compute_type(query.scalar_type());
  HeadTensors heads{with_rows_in_one_piece(query, type),
                    with_rows_in_one_piece(key, type),
                    with_rows_in_one_piece(value, type),
                    {},
                    options};
  const at::Tensor alphas =
      alpha.detach().to(at::kDouble).reshape(-1).expand(query.size(1)).contiguous();
  heads.alphas.assign(alphas.data_ptr<double>(), alphas.data_ptr<double>() + alphas.numel());
  for (double a : heads.alphas) {
    TORCH_CHECK(a >= 1 && std::isfinite(a),
                "entmax_attention: alpha must be at least 1, but it is ", a);
  }
  if (options.key_lengths.defined()) {
    heads.options.key_lengths =
        checked_lengths(options.key_lengths, key.size(2), "entmax_attention");
  }
  if (options.bias.defined()) {
    heads.options.bias = options.bias.detach().to(type).expand(
        {query.size(0), query.size(1), query.size(2), key.size(2)});
  }
  return heads;
}

class EntmaxAttention : public torch::autograd::Function<EntmaxAttention> {
 public:
  static variable_list forward(AutogradContext* context, const Variable& query, const Variable& key,
                               const Variable& value, const Variable& alpha,
                               const EntmaxAttentionOptions& options, Weights weights,
                               bool with_gradient) {
    const at::AutoDispatchBelowADInplaceOrView below;
    const HeadTensors heads = head_tensors(query, key, value, alpha, options);
    const bool store = with_gradient || weights != Weights::kNone;
    std::vector<int64_t> shape = query.sizes().vec();
    shape.back() = value.size(3);
    // In the memory order of the queries, so that heads side by side stay so.
    at::Tensor output = value.size(3) == query.size(3) ? at::empty_like(heads.query)
                                                       : at::empty(shape, heads.query.options());
    if (output.stride(3) != 1) output = at::empty(shape, heads.query.options());
    StoredHeads stored;
    attention_forward(heads, output, store ? &stored : nullptr);

    variable_list result{output.to(query.scalar_type())};
    if (weights == Weights::kDense) {
      result.push_back(dense_weights(heads, stored).to(query.scalar_type()));
    } else if (weights == Weights::kRows) {
      const AttentionRows rows = weight_rows(heads, stored);
      result.insert(result.end(), {rows.offsets, rows.keys, rows.weights});
    }
    context->mark_non_differentiable({result.begin() + 1, result.end()});
    context->set_materialize_grads(false);
    if (!with_gradient) return result;
    variable_list saved{query, key, value, alpha, options.key_lengths, options.bias, stored.places};
    saved.insert(saved.end(), stored.chunks.begin(), stored.chunks.end());
    context->save_for_backward(saved);
    context->saved_data["scale"] = options.scale;
    context->saved_data["causal"] = options.causal;
    context->saved_data["dropout"] = options.dropout;
    context->saved_data["seed"] = options.seed;
    context->saved_data["with_alpha"] = alpha.requires_grad();
    return result;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    variable_list result(7);
    if (!gradients[0].defined()) return result;
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &query = saved[0], &key = saved[1], &value = saved[2], &alpha = saved[3];
    EntmaxAttentionOptions options;
    options.scale = context->saved_data["scale"].toDouble();
    options.key_lengths = saved[4];
    options.causal = context->saved_data["causal"].toBool();
    options.bias = saved[5];
    options.dropout = context->saved_data["dropout"].toDouble();
    options.seed = context->saved_data["seed"].toInt();
    if (at::GradMode::is_enabled()) {
      return twice_differentiable(query, key, value, alpha, options, gradients[0]);
    }
    const bool with_alpha = context->saved_data["with_alpha"].toBool();
    const HeadTensors heads = head_tensors(query, key, value, alpha, options);
    const StoredHeads stored{saved[6], {saved.begin() + 7, saved.end()}};
    const HeadGradients found = attention_backward(
        heads, stored, with_rows_in_one_piece(gradients[0], heads.query.scalar_type()), with_alpha);
    result[0] = found.query.to(query.scalar_type());
    result[1] = found.key.to(query.scalar_type());
    result[2] = found.value.to(query.scalar_type());
    if (with_alpha) {
      const at::Tensor sum = alpha.numel() == 1 ? found.alpha.sum() : found.alpha;
      result[3] = sum.reshape(alpha.sizes()).to(alpha.scalar_type());
    }
    return result;
  }

 private:
  // The gradients as a graph, by way of the composition.
  static variable_list twice_differentiable(const at::Tensor& query, const at::Tensor& key,
                                            const at::Tensor& value, const at::Tensor& alpha,
                                            const EntmaxAttentionOptions& options,
                                            const at::Tensor& gradient) {
    const variable_list inputs{query, key, value, alpha};
    variable_list wanted;
    for (const at::Tensor& input : inputs) {
      if (input.requires_grad()) wanted.push_back(input);
    }
    const at::Tensor output =
        std::get<0>(entmax_attention_composite(query, key, value, alpha, options));
    const variable_list found = torch::autograd::grad({output}, wanted, {gradient},
                                                      /*retain_graph=*/true, /*create_graph=*/true,
                                                      /*allow_unused=*/true);
    variable_list result(7);
    for (size_t i = 0, next = 0; i < inputs.size(); ++i) {
      if (inputs[i].requires_grad()) result[i] = found[next++];
    }
    return result;
  }
};

variable_list apply(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                    const at::Tensor& alpha, const EntmaxAttentionOptions& given, Weights weights) {
  const EntmaxAttentionOptions options = checked(query, key, value, alpha, given);
  const bool composite = !query.device().is_cpu() || query.numel() == 0 || key.numel() == 0 ||
                         value.numel() == 0 ||
                         (options.bias.defined() && options.bias.requires_grad());
  if (!composite) {
    const bool any = query.requires_grad() || key.requires_grad() || value.requires_grad() ||
                     alpha.requires_grad();
    return EntmaxAttention::apply(query, key, value, alpha, options, weights,
                                  any && at::GradMode::is_enabled());
  }
  const auto [output, p] = entmax_attention_composite(query, key, value, alpha, options);
  if (weights == Weights::kNone) return {output};
  if (weights == Weights::kDense) return {output, p.detach()};
  const at::Tensor rows = p.detach()
                              .reshape({p.size(0) * p.size(1) * p.size(2), p.size(3)})
                              .to(compute_type(p.scalar_type()));
  const at::Tensor offsets = at::zeros({rows.size(0) + 1}, rows.options().dtype(at::kLong));
  offsets.slice(0, 1).copy_((rows != 0).sum(1).cumsum(0));
  return {output, offsets, (rows != 0).nonzero().select(1, 1), rows.masked_select(rows != 0)};
}

using OptionalTensor = c10::optional<at::Tensor>;

EntmaxAttentionOptions options_of(c10::optional<double> scale, const OptionalTensor& key_lengths,
                                  bool causal, const OptionalTensor& bias, double dropout,
                                  int64_t seed) {
  TORCH_CHECK(scale.value_or(1) > 0, "entmax_attention: scale must be positive, not ",
              scale.value_or(1));
  return {scale.value_or(0),
          key_lengths.value_or(at::Tensor()),
          causal,
          bias.value_or(at::Tensor()),
          dropout,
          seed};
}

at::Tensor attention_operator(const at::Tensor& query, const at::Tensor& key,
                              const at::Tensor& value, const at::Tensor& alpha,
                              c10::optional<double> scale, const OptionalTensor& key_lengths,
                              bool causal, const OptionalTensor& bias, double dropout,
                              int64_t seed) {
  return entmax_attention(query, key, value, alpha,
                          options_of(scale, key_lengths, causal, bias, dropout, seed));
}

std::tuple<at::Tensor, at::Tensor> weights_operator(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& alpha, c10::optional<double> scale, const OptionalTensor& key_lengths,
    bool causal, const OptionalTensor& bias, double dropout, int64_t seed) {
  return entmax_attention_with_weights(query, key, value, alpha,
                                       options_of(scale, key_lengths, causal, bias, dropout, seed));
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> rows_operator(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& alpha, c10::optional<double> scale, const OptionalTensor& key_lengths,
    bool causal, const OptionalTensor& bias, double dropout, int64_t seed) {
  const auto [output, rows] = entmax_attention_with_rows(
      query, key, value, alpha, options_of(scale, key_lengths, causal, bias, dropout, seed));
  return {output, rows.offsets, rows.keys, rows.weights};
}

void under_autocast(torch::Library& library) {
  library.impl("entmax_attention", float32_under_autocast<attention_operator>::call);
  library.impl("entmax_attention_with_weights", float32_under_autocast<weights_operator>::call);
  library.impl("entmax_attention_with_rows", float32_under_autocast<rows_operator>::call);
}

TORCH_LIBRARY_FRAGMENT(filigree, library) {
  const std::string arguments =
      "(Tensor query, Tensor key, Tensor value, Tensor alpha, float? scale=None, "
      "Tensor? key_lengths=None, bool causal=False, Tensor? bias=None, float dropout=0.0, "
      "int seed=0) -> ";
  library.def(("entmax_attention" + arguments + "Tensor").c_str(), attention_operator);
  library.def(("entmax_attention_with_weights" + arguments + "(Tensor, Tensor)").c_str(),
              weights_operator);
  library.def(
      ("entmax_attention_with_rows" + arguments + "(Tensor, Tensor, Tensor, Tensor)").c_str(),
      rows_operator);
}
TORCH_LIBRARY_IMPL(filigree, AutocastCPU, library) { under_autocast(library); }
TORCH_LIBRARY_IMPL(filigree, AutocastCUDA, library) { under_autocast(library); }

}  // namespace

at::Tensor entmax_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                            const at::Tensor& alpha, const EntmaxAttentionOptions& options) {
  return apply(query, key, value, alpha, options, Weights::kNone)[0];
}

std::tuple<at::Tensor, at::Tensor> entmax_attention_with_weights(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& alpha, const EntmaxAttentionOptions& options) {
  const variable_list result = apply(query, key, value, alpha, options, Weights::kDense);
  return {result[0], result[1]};
}

std::tuple<at::Tensor, AttentionRows> entmax_attention_with_rows(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& alpha, const EntmaxAttentionOptions& options) {
  const variable_list result = apply(query, key, value, alpha, options, Weights::kRows);
  return {result[0], {result[1], result[2], result[3]}};
}

std::tuple<at::Tensor, at::Tensor> entmax_operators::entmax_attention_composite(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& alpha, const EntmaxAttentionOptions& given) {
  const EntmaxAttentionOptions options = checked(query, key, value, alpha, given);
  const at::ScalarType type = compute_type(query.scalar_type());
  at::Tensor scores = at::matmul(query.to(type), key.to(type).transpose(-1, -2)) * options.scale;
  if (options.bias.defined()) scores = scores + options.bias.to(type);
  const at::Tensor seen =
      keys_in_sight(scores, scores.size(2), scores.size(3), options.key_lengths, options.causal);
  if (seen.defined()) {
    scores = scores.masked_fill(seen.logical_not(), -std::numeric_limits<double>::infinity());
  }
  const at::Tensor p = entmax(scores, per_head(alpha), -1);
  const at::Tensor used =
      options.dropout > 0 ? p * keep_factors(p, options.dropout, options.seed) : p;
  return {at::matmul(used, value.to(type)).to(query.scalar_type()), p.to(query.scalar_type())};
}

}  // namespace filigree
