#include "filigree/model/functions.h"

#include <torch/torch.h>

#include <cmath>
#include <mutex>

#include "filigree/entmax/dropout.h"
#include "filigree/entmax/loss_kernels.h"
#include "filigree/model/composite.h"
#include "filigree/model/kernels/cross_entropy.h"
#include "filigree/model/kernels/matrix_product.h"
#include "filigree/model/linear.h"

namespace filigree::model {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Positions per block of the output layer: its logits (4 MB at 8,000 pieces) stay near the core.
constexpr int64_t kLossBlock = 128;

at::Tensor dropped(const at::Tensor& x, double dropout, uint64_t key) {
  if (dropout == 0) return x;
  const at::Tensor out = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "dropout", [&] {
    filigree::dropout_add(x.data_ptr<scalar_t>(), static_cast<const scalar_t*>(nullptr),
                          out.data_ptr<scalar_t>(), x.numel(), dropout, key);
  });
  return out;
}

class Embed : public torch::autograd::Function<Embed> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& weight,
                            const Sequences& sequences, double dropout, int64_t key) {
    const int64_t width = weight.size(1);
    const at::Tensor out = torch::empty({sequences.token_count(), width}, weight.options());
    const int64_t longest = sequences.size() > 0 ? sequences.length.max().item<int64_t>() : 0;
    const at::Tensor positions = position_table(longest, width);
    const Spans spans = sequences.spans();
    const int32_t* tokens = sequences.tokens.data_ptr<int32_t>();
    AT_DISPATCH_FLOATING_TYPES(weight.scalar_type(), "embed", [&] {
      const scalar_t scale = std::sqrt(static_cast<scalar_t>(width));
      const at::Tensor rows = weight.contiguous();
      for (int64_t s = 0; s < sequences.size(); ++s) {
        for (int64_t t = 0; t < spans.length[s]; ++t) {
          const int64_t n = spans.begin[s] + t;
          const scalar_t* row = rows.data_ptr<scalar_t>() + tokens[n] * width;
          const float* position = positions.data_ptr<float>() + t * width;
          scalar_t* const to = out.data_ptr<scalar_t>() + n * width;
          for (int64_t d = 0; d < width; ++d)
            to[d] = scale * row[d] + static_cast<scalar_t>(position[d]);
        }
      }
      if (dropout > 0) {
        filigree::dropout_add(out.data_ptr<scalar_t>(), static_cast<const scalar_t*>(nullptr),
                              out.data_ptr<scalar_t>(), out.numel(), dropout,
                              static_cast<uint64_t>(key));
      }
    });
    ctx->saved_data["tokens"] = sequences.tokens;
    ctx->saved_data["vocabulary"] = weight.size(0);
    ctx->saved_data["dropout"] = dropout;
    ctx->saved_data["key"] = key;
    return out;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const at::Tensor tokens = ctx->saved_data["tokens"].toTensor();
    const at::Tensor d_out =
        dropped(gradients[0].contiguous(), ctx->saved_data["dropout"].toDouble(),
                static_cast<uint64_t>(ctx->saved_data["key"].toInt()));
    const int64_t width = d_out.size(1);
    const at::Tensor d_weight =
        torch::zeros({ctx->saved_data["vocabulary"].toInt(), width}, d_out.options());
    AT_DISPATCH_FLOATING_TYPES(d_out.scalar_type(), "embed_backward", [&] {
      const scalar_t scale = std::sqrt(static_cast<scalar_t>(width));
      const int32_t* token = tokens.data_ptr<int32_t>();
      for (int64_t n = 0; n < tokens.numel(); ++n) {
        const scalar_t* from = d_out.data_ptr<scalar_t>() + n * width;
        scalar_t* const to = d_weight.data_ptr<scalar_t>() + token[n] * width;
        for (int64_t d = 0; d < width; ++d) to[d] += scale * from[d];
      }
    });
    return {d_weight, {}, {}, {}};
  }
};

// cross_entropy_row() for α > 1. p takes the memory of one row.
template <typename T>
RowLoss entmax_loss_row(T* logits, int64_t size, int64_t gold, const LossOptions& options, T scale,
                        std::vector<T>& p) {
  p.resize(static_cast<size_t>(size));
  const entmax_kernels::Rows row{1, size, size};
  T value;
  entmax_kernels::loss(row, logits, &gold, options.alpha, options.label_smoothing, p.data(),
                       &value);
  if (scale != 0) {
    entmax_kernels::loss_backward(row, p.data(), &gold, options.label_smoothing, &scale, logits);
  }
  const double epsilon = kEpsilonMass / static_cast<double>(size);
  const double likelihood = (p[static_cast<size_t>(gold)] + epsilon) / (1 + kEpsilonMass);
  return {value, std::log(likelihood)};
}

template <typename T>
Matrix<T> rows_of(const at::Tensor& x, int64_t begin, int64_t rows) {
  return {x.data_ptr<T>() + begin * x.size(1), rows, x.size(1), x.size(1)};
}

// Adds the losses of a block of positions to `sums`; the gradient takes the place of the logits.
template <typename T>
void loss_of_block(T* logits, int64_t positions, int64_t vocabulary, const int32_t* gold,
                   const LossOptions& options, T scale, LossSums& sums) {
  std::vector<T> p;
  for (int64_t i = 0; i < positions; ++i, logits += vocabulary) {
    const RowLoss row =
        options.alpha == 1
            ? cross_entropy_row(logits, vocabulary, gold[i], options.label_smoothing, scale)
            : entmax_loss_row(logits, vocabulary, gold[i], options, scale, p);
    sums.loss += row.loss;
    sums.log_likelihood += row.log_likelihood;
  }
}

// d_hidden and d_weight, scaled, may be undefined.
template <typename T>
void loss_and_gradients(const at::Tensor& hidden, const at::Tensor& weight, const int32_t* gold,
                        const LossOptions& options, LossSums& sums, const at::Tensor& d_hidden,
                        const at::Tensor& d_weight) {
  const int64_t positions = hidden.size(0), vocabulary = weight.size(0), width = weight.size(1);
  const Matrix<T> all_weights = rows_of<T>(weight, 0, vocabulary);
  const Strips<T> to_logits(all_weights.transposed(), options.precision);
  Strips<T> from_logits, block_hidden;
  if (d_hidden.defined()) from_logits.fill(all_weights, options.precision);
  const at::Tensor logits = torch::empty({kLossBlock, vocabulary}, hidden.options());
  T* const block = logits.data_ptr<T>();
  for (int64_t begin = 0; begin < positions; begin += kLossBlock) {
    const int64_t size = std::min(kLossBlock, positions - begin);
    const Matrix<T> rows = rows_of<T>(hidden, begin, size);
    multiply(rows, to_logits, block, vocabulary);
    loss_of_block<T>(block, size, vocabulary, gold + begin, options,
                     d_hidden.defined() ? static_cast<T>(options.scale) : T(0), sums);
    if (!d_hidden.defined()) continue;
    const Matrix<T> d_logits{block, size, vocabulary, vocabulary};
    multiply(d_logits, from_logits, d_hidden.data_ptr<T>() + begin * width, width);
    block_hidden.fill(rows, options.precision);
    multiply(d_logits.transposed(), block_hidden, d_weight.data_ptr<T>(), width,
             {.accumulate = begin > 0});
  }
}

class LinearLoss : public torch::autograd::Function<LinearLoss> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& hidden,
                            const at::Tensor& weight, const at::Tensor& gold,
                            const LossOptions& options, LossSums* sums) {
    const bool with_gradient = hidden.requires_grad() || weight.requires_grad();
    const at::Tensor x = hidden.contiguous(), w = weight.contiguous();
    variable_list gradients(2);
    if (with_gradient) {
      gradients = {torch::empty_like(x),
                   x.size(0) > 0 ? torch::empty_like(w) : torch::zeros_like(w)};
    }
    const double before = sums->loss;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "linear_loss", [&] {
      loss_and_gradients<scalar_t>(x, w, gold.data_ptr<int32_t>(), options, *sums, gradients[0],
                                   gradients[1]);
    });
    sums->tokens += x.size(0);
    if (with_gradient) ctx->save_for_backward(gradients);
    return torch::full({}, options.scale * (sums->loss - before), hidden.options());
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    variable_list saved = ctx->get_saved_variables();
    if (gradients[0].item<double>() != 1) {
      for (at::Tensor& gradient : saved) gradient = gradient * gradients[0];
    }
    return {saved[0], saved[1], {}, {}, {}};
  }
};

}  // namespace

at::Tensor position_table(int64_t length, int64_t width) {
  static std::mutex mutex;
  static std::map<int64_t, at::Tensor> tables;
  const std::lock_guard lock(mutex);
  at::Tensor& table = tables[width];
  if (table.defined() && table.size(0) >= length) return table;
  const torch::NoGradGuard no_grad;
  int64_t rows = 256;
  while (rows < length) rows *= 2;
  table = torch::empty({rows, width});
  auto data = table.accessor<float, 2>();
  for (int64_t p = 0; p < rows; ++p) {
    for (int64_t d = 0; d < width; ++d) {
      const double angle =
          static_cast<double>(p) *
          std::pow(10000.0, -static_cast<double>(d / 2 * 2) / static_cast<double>(width));
      data[p][d] = static_cast<float>(d % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return table;
}

at::Tensor embed(const Sequences& sequences, const at::Tensor& weight, double dropout,
                 uint64_t dropout_key) {
  if (!weight.is_cpu()) return composite::embed(sequences, weight, dropout, dropout_key);
  return Embed::apply(weight, sequences, dropout, static_cast<int64_t>(dropout_key));
}

at::Tensor linear_loss(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& gold,
                       const LossOptions& options, LossSums& sums) {
  if (!has_fused_products(hidden, options.precision)) {
    return composite::linear_loss(hidden, weight, gold, options, sums);
  }
  return LinearLoss::apply(hidden, weight, gold, options, &sums);
}

}  // namespace filigree::model
