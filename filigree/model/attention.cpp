#include "filigree/model/attention.h"

#include <torch/torch.h>

#include "filigree/model/composite.h"

namespace filigree::model {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// One tensor for self-attention ([N, 3D]; key_value has no second dimension, since an autograd
// function takes no undefined tensor), two for cross-attention.
struct Operands {
  at::Tensor query, key_value;
  bool joined() const { return key_value.dim() != 2; }
  int64_t width() const { return joined() ? query.size(1) / 3 : query.size(1); }
};

std::vector<double> to_doubles(const at::Tensor& alpha) {
  const at::Tensor contiguous = alpha.detach().to(at::kDouble).contiguous();
  const double* data = contiguous.data_ptr<double>();
  return {data, data + contiguous.numel()};
}

template <typename T>
AttentionInput<T> input_of(const Operands& o, const std::vector<double>& alpha,
                           const at::Tensor& query_begin, const at::Tensor& query_length,
                           const at::Tensor& key_begin, const at::Tensor& key_length) {
  const int64_t width = o.width();
  AttentionInput<T> in{};
  in.sequences = query_begin.numel();
  in.heads = static_cast<int64_t>(alpha.size());
  in.head_size = width / in.heads;
  in.queries = {query_begin.data_ptr<int32_t>(), query_length.data_ptr<int32_t>()};
  in.keys = {key_begin.data_ptr<int32_t>(), key_length.data_ptr<int32_t>()};
  in.query = o.query.data_ptr<T>();
  in.key = o.joined() ? in.query + width : o.key_value.data_ptr<T>();
  in.value = in.key + width;
  in.query_stride = o.query.size(1);
  in.key_stride = in.value_stride = o.joined() ? 3 * width : 2 * width;
  in.alpha = alpha.data();
  return in;
}

void record_weights(const at::Tensor& weights, const Sequences& queries, const Sequences& keys,
                    const AttentionOptions& options) {
  const Spans q = queries.spans(), k = keys.spans();
  int64_t begin = 0;
  for (int64_t s = 0; s < queries.size(); ++s) {
    const int64_t size = options.heads * q.length[s] * k.length[s];
    options.record(s,
                   weights.narrow(0, begin, size).view({options.heads, q.length[s], k.length[s]}));
    begin += size;
  }
}

// Weights in tensors that autograd can keep.
struct KeptWeights {
  at::Tensor places;
  std::vector<at::Tensor> chunks;

  entmax_kernels::WeightMemory::Chunk add_chunk(int64_t bytes) {
    chunks.push_back(torch::empty({bytes}, at::kByte));
    return {static_cast<int64_t>(chunks.size()) - 1,
            reinterpret_cast<std::byte*>(chunks.back().data_ptr<uint8_t>()), bytes};
  }
  std::vector<const std::byte*> chunk_pointers() const {
    std::vector<const std::byte*> pointers;
    for (const at::Tensor& chunk : chunks) {
      pointers.push_back(reinterpret_cast<const std::byte*>(chunk.data_ptr<uint8_t>()));
    }
    return pointers;
  }
};

int64_t weights_size(const Sequences& queries, const Sequences& keys, int64_t heads) {
  return heads * (queries.length.to(at::kLong) * keys.length).sum().item<int64_t>();
}

class Attention : public torch::autograd::Function<Attention> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& query,
                            const at::Tensor& key_value, const at::Tensor& alpha,
                            const Sequences& queries, const Sequences& keys,
                            const AttentionOptions& options) {
    const Operands o{query.contiguous(), key_value.contiguous()};
    const at::Tensor output = torch::empty({query.size(0), o.width()}, query.options());
    KeptWeights kept;
    AT_DISPATCH_FLOATING_TYPES(query.scalar_type(), "attention", [&] {
      const std::vector<double> alphas = to_doubles(alpha);
      AttentionInput<scalar_t> in =
          input_of<scalar_t>(o, alphas, queries.begin, queries.length, keys.begin, keys.length);
      in.causal = options.causal;
      in.dropout = options.dropout;
      in.dropout_key = options.dropout_key;
      kept.places = torch::empty({attention_places(in)}, at::kLong);
      entmax_kernels::WeightMemory memory([&](int64_t bytes) { return kept.add_chunk(bytes); });
      const AttentionMemory room{&memory, kept.places.data_ptr<int64_t>()};
      attention_forward(in, output.data_ptr<scalar_t>(), o.width(), &room, options.nonzero);
      if (options.record) {
        const at::Tensor weights =
            torch::empty({weights_size(queries, keys, in.heads)}, query.options());
        const std::vector<const std::byte*> chunks = kept.chunk_pointers();
        copy_weights(in, {chunks.data(), room.places}, weights.data_ptr<scalar_t>());
        record_weights(weights, queries, keys, options);
      }
    });
    variable_list saved{o.query, o.key_value, alpha, kept.places};
    saved.insert(saved.end(), kept.chunks.begin(), kept.chunks.end());
    ctx->save_for_backward(saved);
    ctx->saved_data["query_begin"] = queries.begin;
    ctx->saved_data["query_length"] = queries.length;
    ctx->saved_data["key_begin"] = keys.begin;
    ctx->saved_data["key_length"] = keys.length;
    ctx->saved_data["causal"] = options.causal;
    ctx->saved_data["dropout"] = options.dropout;
    ctx->saved_data["dropout_key"] = static_cast<int64_t>(options.dropout_key);
    return output;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const Operands o{saved[0], saved[1]};
    const at::Tensor& alpha = saved[2];
    const KeptWeights kept{saved[3], {saved.begin() + 4, saved.end()}};
    const std::vector<const std::byte*> chunks = kept.chunk_pointers();
    const at::Tensor output_gradient = gradients[0].contiguous();
    // A row of keys that no query sees keeps a zero gradient.
    const at::Tensor d_query = torch::zeros_like(o.query);
    const at::Tensor d_key_value = o.joined() ? at::Tensor() : torch::zeros_like(o.key_value);
    std::vector<double> d_alpha(static_cast<size_t>(alpha.numel()), 0.0);
    const bool with_alpha = alpha.requires_grad();
    AT_DISPATCH_FLOATING_TYPES(o.query.scalar_type(), "attention_backward", [&] {
      const std::vector<double> alphas = to_doubles(alpha);
      AttentionInput<scalar_t> in = input_of<scalar_t>(
          o, alphas, ctx->saved_data["query_begin"].toTensor(),
          ctx->saved_data["query_length"].toTensor(), ctx->saved_data["key_begin"].toTensor(),
          ctx->saved_data["key_length"].toTensor());
      in.causal = ctx->saved_data["causal"].toBool();
      in.dropout = ctx->saved_data["dropout"].toDouble();
      in.dropout_key = static_cast<uint64_t>(ctx->saved_data["dropout_key"].toInt());
      auto* const query = d_query.data_ptr<scalar_t>();
      auto* const key = o.joined() ? query + o.width() : d_key_value.data_ptr<scalar_t>();
      attention_backward(in, {chunks.data(), kept.places.data_ptr<int64_t>()},
                         output_gradient.data_ptr<scalar_t>(), o.width(), query, key,
                         key + o.width(), with_alpha ? d_alpha.data() : nullptr);
    });
    const at::Tensor alpha_gradient =
        with_alpha ? torch::tensor(d_alpha, alpha.options().requires_grad(false)) : at::Tensor();
    return {d_query, d_key_value, alpha_gradient, {}, {}, {}};
  }
};

}  // namespace

at::Tensor self_attention(const at::Tensor& qkv, const at::Tensor& alpha,
                          const Sequences& sequences, const AttentionOptions& options) {
  if (!qkv.is_cpu()) return composite::self_attention(qkv, alpha, sequences, options);
  return Attention::apply(qkv, torch::empty({0}, qkv.options()), alpha, sequences, sequences,
                          options);
}

at::Tensor cross_attention(const at::Tensor& query, const at::Tensor& key_value,
                           const at::Tensor& alpha, const Sequences& target,
                           const Sequences& source, const AttentionOptions& options) {
  if (!query.is_cpu()) {
    return composite::cross_attention(query, key_value, alpha, target, source, options);
  }
  return Attention::apply(query, key_value, alpha, target, source, options);
}

}  // namespace filigree::model
