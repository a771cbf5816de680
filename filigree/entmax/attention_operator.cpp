// The kernels of attention_weights.h on CPU tensors, the same in tensor operations elsewhere, and
// the gradient of both.
#include "filigree/entmax/attention.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "filigree/entmax/attention_masks.h"
#include "filigree/entmax/attention_weights.h"
#include "filigree/entmax/operators.h"

namespace filigree {
namespace {

using entmax_operators::checked_lengths;
using entmax_operators::keep_factors;
using entmax_operators::keys_in_sight;
using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

struct Options {
  double scale;
  at::Tensor key_lengths;  // undefined: all keys
  bool causal;
  double dropout;
  int64_t seed;
  bool kernels;  // or tensor operations
};

void check(const at::Tensor& scores, const at::Tensor& alpha, const Options& options) {
  entmax_operators::check_types(scores, alpha);
  TORCH_CHECK(scores.dim() == 4,
              "attention_weights: scores must be [batch, head, query, key], not ", scores.sizes());
  TORCH_CHECK(alpha.numel() == 1 || alpha.numel() == scores.size(1),
              "attention_weights: alpha must be one number or one per head (", scores.size(1),
              "), but its shape is ", alpha.sizes());
  TORCH_CHECK(options.scale > 0, "attention_weights: scale must be positive, not ", options.scale);
  TORCH_CHECK(options.dropout >= 0 && options.dropout < 1,
              "attention_weights: dropout must be in [0, 1), not ", options.dropout);
  if (!options.key_lengths.defined()) return;
  const at::Tensor& lengths = options.key_lengths;
  TORCH_CHECK(!at::isFloatingType(lengths.scalar_type()) && lengths.dim() == 1 &&
                  lengths.size(0) == scores.size(0),
              "attention_weights: key_lengths must be one integer per sequence (", scores.size(0),
              "), but they are ", lengths.scalar_type(), " of shape ", lengths.sizes());
}

// What the kernels are told, and the memory that it points to.
struct Kernel {
  Kernel(const at::Tensor& scores, const at::Tensor& alpha, const Options& options)
      : heads(scores.size(1)),
        alphas(alpha.detach().to(at::kDouble).reshape(-1).expand(heads).contiguous()) {
    const double* values = alphas.data_ptr<double>();
    for (int64_t h = 0; h < heads; ++h) {
      TORCH_CHECK(values[h] >= 1 && std::isfinite(values[h]),
                  "attention_weights: alpha must be at least 1, but it is ", values[h]);
    }
    shape = {scores.size(0), heads, scores.size(2), scores.size(3), values, options.scale};
    if (options.key_lengths.defined()) {
      lengths = checked_lengths(options.key_lengths, shape.keys, "attention_weights");
      shape.key_lengths = lengths.data_ptr<int32_t>();
    }
    shape.causal = options.causal;
    shape.dropout = options.dropout;
    shape.dropout_key = static_cast<uint64_t>(options.seed);
  }

  template <typename Work>
  void each_block(Work&& work) const {
    if (shape.queries == 0 || shape.keys == 0) return;
    const int64_t grain = std::max<int64_t>(1, 16384 / (shape.queries * shape.keys));
    at::parallel_for(0, shape.batch * heads, grain, work);
  }

  int64_t heads;
  at::Tensor alphas, lengths;
  entmax_kernels::AttentionScores shape;
};

// alpha as [heads, 1, 1] or one number.
at::Tensor per_head(const at::Tensor& alpha) {
  return alpha.numel() == 1 ? alpha.reshape({}) : alpha.reshape({-1, 1, 1});
}

class AttentionWeights : public torch::autograd::Function<AttentionWeights> {
 public:
  // `scores` is overwritten when it is of the type of the computation and contiguous and in_place.
  static Variable forward(AutogradContext* context, const Variable& scores, const Variable& alpha,
                          const Options& options, bool in_place) {
    const at::AutoDispatchBelowADInplaceOrView below;
    const at::ScalarType type = entmax_operators::compute_type(scores.scalar_type());
    at::Tensor p, used;
    if (options.kernels) {
      p = in_place ? scores : at::empty(scores.sizes(), scores.options().dtype(type));
      if (!in_place) p.copy_(scores);
      used = options.dropout > 0 ? at::empty_like(p) : p;
      const Kernel kernel(scores, alpha, options);
      AT_DISPATCH_FLOATING_TYPES(type, "attention_weights", [&] {
        scalar_t* const dropped = options.dropout > 0 ? used.data_ptr<scalar_t>() : nullptr;
        kernel.each_block([&](int64_t first, int64_t last) {
          entmax_kernels::attention_weights(kernel.shape, first, last, p.data_ptr<scalar_t>(),
                                            dropped);
        });
      });
    } else {
      at::Tensor z = scores.to(type) * options.scale;
      const at::Tensor seen = keys_in_sight(scores, scores.size(2), scores.size(3),
                                            options.key_lengths, options.causal);
      if (seen.defined()) {
        z = z.masked_fill(seen.logical_not(), -std::numeric_limits<double>::infinity());
      }
      p = std::get<0>(entmax_operators::call_forward(z, per_head(alpha), -1));
      if (in_place) p = scores.copy_(p);
      used = options.dropout > 0 ? p * keep_factors(p, options.dropout, options.seed) : p;
    }
    if (in_place) context->mark_dirty({scores});
    context->save_for_backward({p, alpha, options.key_lengths});
    context->saved_data["scale"] = options.scale;
    context->saved_data["causal"] = options.causal;
    context->saved_data["dropout"] = options.dropout;
    context->saved_data["seed"] = options.seed;
    context->saved_data["kernels"] = options.kernels;
    context->saved_data["with_alpha"] = alpha.requires_grad();
    context->saved_data["type"] = scores.scalar_type();
    return used.to(scores.scalar_type());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    TORCH_CHECK(!at::GradMode::is_enabled(),
                "attention_weights has no second derivative: use entmax, which has one");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &p = saved[0], &alpha = saved[1];
    const bool with_alpha = context->saved_data["with_alpha"].toBool();
    const Options options{
        context->saved_data["scale"].toDouble(), saved[2],
        context->saved_data["causal"].toBool(),  context->saved_data["dropout"].toDouble(),
        context->saved_data["seed"].toInt(),     context->saved_data["kernels"].toBool()};
    at::Tensor dz = gradients[0].to(p.scalar_type()).clone(at::MemoryFormat::Contiguous);
    at::Tensor dalpha;
    if (options.kernels) {
      const Kernel kernel(p, alpha, options);
      const at::Tensor per_block =
          at::zeros({p.size(0), p.size(1)}, p.options().dtype(at::kDouble));
      AT_DISPATCH_FLOATING_TYPES(p.scalar_type(), "attention_weights_backward", [&] {
        kernel.each_block([&](int64_t first, int64_t last) {
          entmax_kernels::attention_weights_backward(
              kernel.shape, first, last, p.data_ptr<scalar_t>(), dz.data_ptr<scalar_t>(),
              with_alpha ? per_block.data_ptr<double>() : nullptr);
        });
      });
      dalpha = per_block.sum(0);
    } else {
      if (options.dropout > 0) dz = dz * keep_factors(dz, options.dropout, options.seed);
      std::tie(dz, dalpha) =
          entmax_operators::call_backward(p, dz, per_head(alpha), -1, with_alpha);
      dz = dz * options.scale;
    }
    if (with_alpha) {
      if (alpha.numel() == 1) dalpha = dalpha.sum();
      dalpha = dalpha.reshape(alpha.sizes()).to(alpha.scalar_type());
    }
    return {dz.to(context->saved_data["type"].toScalarType()), with_alpha ? dalpha : Variable(),
            Variable(), Variable()};
  }
};

at::Tensor apply(const at::Tensor& scores, const at::Tensor& alpha, const Options& options,
                 bool in_place) {
  check(scores, alpha, options);
  return AttentionWeights::apply(scores, alpha, options, in_place);
}

using OptionalTensor = c10::optional<at::Tensor>;

at::Tensor attention_weights_operator(const at::Tensor& scores, const at::Tensor& alpha,
                                      double scale, const OptionalTensor& key_lengths, bool causal,
                                      double dropout, int64_t seed) {
  return attention_weights(scores, alpha, scale, key_lengths.value_or(at::Tensor()), causal,
                           dropout, seed);
}

at::Tensor attention_weights_in_place(at::Tensor& scores, const at::Tensor& alpha, double scale,
                                      const OptionalTensor& key_lengths, bool causal) {
  return attention_weights_(scores, alpha, scale, key_lengths.value_or(at::Tensor()), causal);
}

TORCH_LIBRARY_FRAGMENT(filigree, library) {
  library.def(
      "attention_weights(Tensor scores, Tensor alpha, float scale=1.0, Tensor? key_lengths=None, "
      "bool causal=False, float dropout=0.0, int seed=0) -> Tensor",
      attention_weights_operator);
  library.def(
      "attention_weights_(Tensor(a!) scores, Tensor alpha, float scale=1.0, "
      "Tensor? key_lengths=None, bool causal=False) -> Tensor(a!)",
      attention_weights_in_place);
}

}  // namespace

at::Tensor attention_weights(const at::Tensor& scores, const at::Tensor& alpha, double scale,
                             const at::Tensor& key_lengths, bool causal, double dropout,
                             int64_t seed) {
  return apply(scores, alpha, {scale, key_lengths, causal, dropout, seed, scores.device().is_cpu()},
               /*in_place=*/false);
}

at::Tensor& attention_weights_(at::Tensor& scores, const at::Tensor& alpha, double scale,
                               const at::Tensor& key_lengths, bool causal) {
  TORCH_CHECK(scores.is_contiguous() &&
                  (scores.scalar_type() == at::kFloat || scores.scalar_type() == at::kDouble),
              "attention_weights_: scores must be contiguous float32 or float64");
  apply(scores, alpha, {scale, key_lengths, causal, 0, 0, scores.device().is_cpu()},
        /*in_place=*/true);
  return scores;
}

at::Tensor entmax_operators::attention_weights_composite(const at::Tensor& scores,
                                                         const at::Tensor& alpha, double scale,
                                                         const at::Tensor& key_lengths, bool causal,
                                                         double dropout, int64_t seed) {
  return apply(scores, alpha, {scale, key_lengths, causal, dropout, seed, /*kernels=*/false},
               /*in_place=*/false);
}

}  // namespace filigree
