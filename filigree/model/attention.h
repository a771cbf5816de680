// Attention as one operator with autograd: projections in, context vectors out. The weights come
// from α-entmax with one α per head; gradients reach α.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "filigree/model/sequences.h"

namespace filigree::model {

struct AttentionOptions {
  int64_t heads = 1;
  bool causal = false;
  double dropout = 0;          ///< on the attention weights
  uint64_t dropout_key = 0;    ///< names the mask; see entmax/dropout.h
  int64_t* nonzero = nullptr;  ///< [heads], to which the number of weights > 0 is added
  /// Gets the weights of every sequence before dropout, [H, queries, keys]. May be empty.
  std::function<void(int64_t sequence, const at::Tensor& weights)> record;
};

/// Self-attention. qkv [N, 3D] holds queries, keys and values side by side; alpha [H].
/// Returns the context [N, D].
at::Tensor self_attention(const at::Tensor& qkv, const at::Tensor& alpha,
                          const Sequences& sequences, const AttentionOptions& options);

/// Attention of target positions to source positions. query [T, D], key_value [S, 2D], alpha [H].
/// Returns the context [T, D].
at::Tensor cross_attention(const at::Tensor& query, const at::Tensor& key_value,
                           const at::Tensor& alpha, const Sequences& target,
                           const Sequences& source, const AttentionOptions& options);

}  // namespace filigree::model
