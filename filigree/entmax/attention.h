// Attention weights on tensors in one go: scale, mask, α-entmax, dropout. Also registered as
// torch.ops.filigree.attention_weights and …attention_weights_.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace filigree {

/// Attention weights from attention scores: entmax(scale · scores, alpha) over the keys that each
/// query may see, then dropout. Neither what lies behind a sequence's end nor the upper triangle is
/// read; both are 0 in the result.
///
/// scores: [batch, head, query, key], of a type that entmax takes; the result has its shape and
/// type. alpha: one number or one per head. scale: positive, 1/√d. key_lengths: one integer per
/// sequence, of which the first so many keys exist; undefined: all. causal: query i sees keys
/// 0 … i + (keys − queries). dropout: the probability of a weight to be dropped; the others are
/// divided by 1 − dropout. seed names the mask, which is never stored.
/// Differentiable once in scores and alpha. Throws c10::Error on shapes and values that do not fit.
at::Tensor attention_weights(const at::Tensor& scores, const at::Tensor& alpha, double scale = 1,
                             const at::Tensor& key_lengths = {}, bool causal = false,
                             double dropout = 0, int64_t seed = 0);

/// The same, without dropout, in the memory of the scores: float32 or float64, contiguous. Returns
/// scores.
at::Tensor& attention_weights_(at::Tensor& scores, const at::Tensor& alpha, double scale = 1,
                               const at::Tensor& key_lengths = {}, bool causal = false);

}  // namespace filigree
