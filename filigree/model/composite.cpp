#include "filigree/model/composite.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "filigree/base/random.h"
#include "filigree/entmax/dropout.h"
#include "filigree/entmax/entmax.h"
#include "filigree/entmax/loss.h"

namespace filigree::model::composite {
namespace {

constexpr int64_t kLowHalf = 0xffffffff;

// 1 / (1 − p) where the mask of entmax/dropout.h keeps an element, else 0. index: of each element;
// low, high: the halves of the key, numbers or tensors that broadcast. 32-bit unsigned arithmetic
// in int64.
template <typename Key>
at::Tensor keep_factors(const at::Tensor& index, const Key& low, const Key& high, double dropout,
                        at::ScalarType type) {
  const auto mixed = [](const at::Tensor& x, int64_t bits) {
    return x.bitwise_xor(at::__rshift__(x, bits));
  };
  at::Tensor x = (index + low).bitwise_and(kLowHalf);
  x = (mixed(x, 16) * int64_t{kDropoutMultiplier1}).bitwise_and(kLowHalf);
  x = (mixed(x, 15) + high).bitwise_and(kLowHalf);
  x = (x * int64_t{kDropoutMultiplier2}).bitwise_and(kLowHalf);
  const at::Tensor kept = mixed(x, 16) < int64_t{dropout_threshold(dropout)};
  return kept.to(type) / (1 - dropout);
}

at::Tensor dropped(const at::Tensor& x, double dropout, uint64_t key) {
  if (dropout == 0) return x;
  const at::Tensor index = torch::arange(x.numel(), x.options().dtype(at::kLong)).view(x.sizes());
  return x * keep_factors(index, static_cast<int64_t>(key & kLowHalf),
                          static_cast<int64_t>(key >> 32), dropout, x.scalar_type());
}

// Where the rows of packed sequences go when they are padded to the longest, and come back from.
struct Padding {
  Padding(const Sequences& sequences, int64_t rows, at::Device device)
      : batch(sequences.size()), lengths(sequences.length.to(at::kLong)) {
    const Spans spans = sequences.spans();
    longest = batch > 0 ? lengths.max().item<int64_t>() : 0;
    const at::Tensor to = torch::empty({batch * longest}, at::kLong);
    const at::Tensor back = torch::zeros({rows}, at::kLong);
    for (int64_t s = 0; s < batch; ++s) {
      for (int64_t t = 0; t < longest; ++t) {
        const bool inside = t < spans.length[s];
        const int64_t place = s * longest + t, row = spans.begin[s] + (inside ? t : 0);
        to.data_ptr<int64_t>()[place] = row;
        if (inside) back.data_ptr<int64_t>()[row] = place;
      }
    }
    row_of_place = to.to(device);
    place_of_row = back.to(device);
    lengths = lengths.to(device);
  }

  // x [rows, H · d] → [batch, H, longest, d]; padding repeats a sequence's first row.
  at::Tensor split(const at::Tensor& x, int64_t heads) const {
    return x.index_select(0, row_of_place)
        .view({batch, longest, heads, x.size(1) / heads})
        .transpose(1, 2);
  }
  // The way back.
  at::Tensor join(const at::Tensor& x) const {
    return x.transpose(1, 2)
        .reshape({batch * longest, x.size(1) * x.size(3)})
        .index_select(0, place_of_row);
  }
  // [batch, longest]: whether a place holds a row.
  at::Tensor filled() const {
    return torch::arange(longest, lengths.options()) < lengths.unsqueeze(1);
  }

  int64_t batch, longest;
  at::Tensor lengths;       // [batch]
  at::Tensor row_of_place;  // [batch · longest]
  at::Tensor place_of_row;  // [rows]
};

// The mask of the kernel, where every sentence and head has a key of its own and counts its
// elements without padding. Returns [batch, H, queries, keys].
at::Tensor weight_factors(const Padding& queries, const Padding& keys,
                          const AttentionOptions& options, at::ScalarType type) {
  const at::Tensor halves = torch::empty({2, queries.batch * options.heads}, at::kLong);
  auto* const half = halves.data_ptr<int64_t>();
  for (int64_t i = 0; i < halves.size(1); ++i) {
    const uint64_t key = combine(options.dropout_key, static_cast<uint64_t>(i));
    half[i] = static_cast<int64_t>(key & kLowHalf);
    half[halves.size(1) + i] = static_cast<int64_t>(key >> 32);
  }
  const at::Tensor of_heads =
      halves.to(keys.lengths.device()).view({2, queries.batch, options.heads, 1, 1});
  const at::Tensor query = torch::arange(queries.longest, keys.lengths.options()).unsqueeze(1);
  const at::Tensor key = torch::arange(keys.longest, keys.lengths.options());
  const at::Tensor index = query * keys.lengths.view({-1, 1, 1, 1}) + key;
  return keep_factors(index, of_heads[0], of_heads[1], options.dropout, type);
}

// [batch, 1, queries or 1, keys]: which keys a query sees.
at::Tensor in_sight(const Padding& queries, const Padding& keys, bool causal) {
  const at::Tensor filled = keys.filled().view({keys.batch, 1, 1, keys.longest});
  if (!causal) return filled;
  const at::Tensor query = torch::arange(queries.longest, keys.lengths.options()).unsqueeze(1);
  const at::Tensor key = torch::arange(keys.longest, keys.lengths.options());
  return filled.logical_and(key <= query);
}

void count_nonzero(const at::Tensor& weights, const Padding& queries, int64_t* nonzero) {
  const at::Tensor filled = queries.filled().view({queries.batch, 1, queries.longest, 1});
  const at::Tensor counts =
      (weights > 0).logical_and(filled).sum(at::IntArrayRef{0, 2, 3}).to(at::kCPU);
  for (int64_t h = 0; h < counts.numel(); ++h) nonzero[h] += counts[h].item<int64_t>();
}

void record_weights(const at::Tensor& weights, const Sequences& queries, const Sequences& keys,
                    const AttentionOptions& options) {
  const at::Tensor here = weights.detach().to(at::kCPU);
  for (int64_t s = 0; s < queries.size(); ++s) {
    options.record(s, here[s]
                          .narrow(1, 0, queries.spans().length[s])
                          .narrow(2, 0, keys.spans().length[s])
                          .contiguous());
  }
}

at::Tensor attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                  const at::Tensor& alpha, const Sequences& target, const Sequences& source,
                  const AttentionOptions& options) {
  const Padding queries(target, query.size(0), query.device());
  const Padding keys(source, key.size(0), key.device());
  const double scale =
      1 / std::sqrt(static_cast<double>(query.size(1)) / static_cast<double>(options.heads));
  const at::Tensor scores =
      queries.split(query, options.heads).matmul(keys.split(key, options.heads).transpose(-2, -1)) *
      scale;  // [batch, H, queries, keys]
  const at::Tensor unseen = in_sight(queries, keys, options.causal).logical_not();
  at::Tensor weights =
      filigree::entmax(scores.masked_fill(unseen, -std::numeric_limits<double>::infinity()), alpha);
  if (options.nonzero) count_nonzero(weights, queries, options.nonzero);
  if (options.record) record_weights(weights, target, source, options);
  if (options.dropout > 0) {
    weights = weights * weight_factors(queries, keys, options, weights.scalar_type());
  }
  return queries.join(weights.matmul(keys.split(value, options.heads)));
}

// [N] int64: each token's position in its sequence.
at::Tensor positions_of(const Sequences& sequences) {
  const at::Tensor position = torch::zeros({sequences.token_count()}, at::kLong);
  const Spans spans = sequences.spans();
  for (int64_t s = 0; s < sequences.size(); ++s) {
    for (int64_t t = 0; t < spans.length[s]; ++t) {
      position.data_ptr<int64_t>()[spans.begin[s] + t] = t;
    }
  }
  return position;
}

struct RowLosses {
  at::Tensor loss, log_likelihood;  // [N]; the latter without gradient
};

RowLosses cross_entropy(const at::Tensor& logits, const at::Tensor& gold, double smoothing) {
  const at::Tensor log_p = torch::log_softmax(logits, -1);
  const at::Tensor of_gold = log_p.gather(1, gold.unsqueeze(1)).squeeze(1);
  return {(smoothing - 1) * of_gold - smoothing * log_p.mean(1), of_gold.detach()};
}

RowLosses sparse_loss(const at::Tensor& logits, const at::Tensor& gold,
                      const LossOptions& options) {
  const at::Tensor loss = filigree::entmax_loss(logits, gold, options.alpha, -1,
                                                at::Reduction::None, -100, options.label_smoothing);
  const at::Tensor p = filigree::entmax(logits.detach(), options.alpha);
  const double epsilon = kEpsilonMass / static_cast<double>(logits.size(1));
  const at::Tensor of_gold = p.gather(1, gold.unsqueeze(1)).squeeze(1);
  return {loss, ((of_gold + epsilon) / (1 + kEpsilonMass)).log()};
}

}  // namespace

at::Tensor embed(const Sequences& sequences, const at::Tensor& weight, double dropout,
                 uint64_t dropout_key) {
  const int64_t longest =
      sequences.size() > 0 ? sequences.length.max().item<int64_t>() : int64_t{0};
  const at::Tensor positions = position_table(longest, weight.size(1))
                                   .index_select(0, positions_of(sequences))
                                   .to(weight.options());
  const at::Tensor tokens = sequences.tokens.to(weight.device(), at::kLong);
  const double scale = std::sqrt(static_cast<double>(weight.size(1)));
  return dropped(weight.index_select(0, tokens) * scale + positions, dropout, dropout_key);
}

at::Tensor layer_norm(const at::Tensor& x, const LayerNorm& norm) {
  return torch::layer_norm(x, {x.size(-1)}, norm.weight, norm.bias, kLayerNormEpsilon);
}

Normed add_norm(const at::Tensor& branch, const at::Tensor& residual, const LayerNorm& norm,
                double dropout, uint64_t dropout_key) {
  const at::Tensor sum = residual + dropped(branch, dropout, dropout_key);
  return {sum, layer_norm(sum, norm)};
}

at::Tensor linear_loss(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& gold,
                       const LossOptions& options, LossSums& sums) {
  const at::Tensor logits = linear(hidden, weight, /*bias=*/{}, options.precision);
  const at::Tensor target = gold.to(weight.device(), at::kLong);
  const RowLosses rows = options.alpha == 1 ? cross_entropy(logits, target, options.label_smoothing)
                                            : sparse_loss(logits, target, options);
  const at::Tensor loss = rows.loss.sum();
  const at::Tensor totals =
      torch::stack({loss.detach(), rows.log_likelihood.sum()}).to(at::kCPU, at::kDouble);
  sums.loss += totals[0].item<double>();
  sums.log_likelihood += totals[1].item<double>();
  sums.tokens += hidden.size(0);
  return loss * options.scale;
}

at::Tensor self_attention(const at::Tensor& qkv, const at::Tensor& alpha,
                          const Sequences& sequences, const AttentionOptions& options) {
  const std::vector<at::Tensor> parts = qkv.chunk(3, 1);
  return attend(parts[0], parts[1], parts[2], alpha, sequences, sequences, options);
}

at::Tensor cross_attention(const at::Tensor& query, const at::Tensor& key_value,
                           const at::Tensor& alpha, const Sequences& target,
                           const Sequences& source, const AttentionOptions& options) {
  const std::vector<at::Tensor> parts = key_value.chunk(2, 1);
  return attend(query, parts[0], parts[1], alpha, target, source, options);
}

}  // namespace filigree::model::composite
