// Attention by α-entmax in one operator: scores, mask, transform, dropout and the weighted sum of
// the values. Also registered as torch.ops.filigree.entmax_attention, …_with_weights and
// …_with_rows.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <tuple>

namespace filigree {

struct EntmaxAttentionOptions {
  double scale = 0;        ///< of the scores, positive; 0: 1/√d
  at::Tensor key_lengths;  ///< [batch] integers: only so many first keys exist; undefined: all
  bool causal = false;     ///< query i sees keys 0 … i + (keys − queries)
  at::Tensor bias;  ///< added to the scores, broadcasts over them; −inf masks; may be undefined
  double dropout = 0;  ///< probability of a weight to be dropped; the others are divided by 1 − it
  int64_t seed = 0;    ///< names the mask, which is never stored: take another one for every call
};

/// The output [batch, head, query, e]: entmax(scale · query keyᵀ + bias, alpha) value, for query
/// [batch, head, query, d], key [batch, head, key, d], value [batch, head, key, e] of one floating
/// type (half types are computed in float32). alpha: one number or one per head, at least 1.
///
/// On the CPU the scores exist for a block of queries at a time, and work and memory after them
/// follow the support of the weights, in the forward and in the backward; where most weights are
/// above 0 the products are dense. Elsewhere, and for a bias that requires a gradient, it is the
/// composition of tensor operations.
/// Differentiable, also twice, in query, key, value, alpha and bias. A query that sees no key, or
/// keys of score −inf alone, gives zeros. Throws c10::Error on what does not fit.
at::Tensor entmax_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                            const at::Tensor& alpha, const EntmaxAttentionOptions& options = {});

/// The output and the weights [batch, head, query, key] before dropout, which have no gradient.
std::tuple<at::Tensor, at::Tensor> entmax_attention_with_weights(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& alpha, const EntmaxAttentionOptions& options = {});

/// Weights as compressed rows: those of query i of head h of sequence b are entries offsets[r] …
/// offsets[r + 1] − 1 with r = (b · heads + h) · queries + i. In order of keys; none is 0.
struct AttentionRows {
  at::Tensor offsets;  ///< int64, one per row and one more
  at::Tensor keys;     ///< int64
  at::Tensor weights;  ///< float32, or float64 for float64 queries
};

std::tuple<at::Tensor, AttentionRows> entmax_attention_with_rows(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& alpha, const EntmaxAttentionOptions& options = {});

namespace entmax_operators {

/// The same from plain tensor operations: what the operator is tested against, and what it falls
/// back to. The second tensor are the weights before dropout.
std::tuple<at::Tensor, at::Tensor> entmax_attention_composite(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& alpha, const EntmaxAttentionOptions& options);

}  // namespace entmax_operators

}  // namespace filigree
