// Multi-head attention over packed sequences: scores, α-entmax, dropout and the weighted sum for
// one sentence and head at a time by entmax/sparse_attention.h, so that scores live in the caches,
// padding does not exist, and work after the scores follows the support. No torch; one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "filigree/entmax/sparse_attention.h"

namespace filigree::model {

/// Where each sequence of a packed batch lies: rows begin[i] … begin[i] + length[i] − 1.
struct Spans {
  const int32_t* begin;
  const int32_t* length;
};

/// One attention over a packed batch, for T float or double. Row r of a matrix starts at
/// data + r · stride; head h takes columns h · head_size … (h + 1) · head_size − 1.
template <typename T>
struct AttentionInput {
  int64_t sequences;
  int64_t heads;
  int64_t head_size;
  Spans queries, keys;  ///< per sequence; several may name the same keys
  const T *query, *key, *value;
  int64_t query_stride, key_stride, value_stride;
  const double* alpha;  ///< [heads]; 1 is softmax
  bool causal = false;  ///< query i sees keys 0 … i (lengths equal)
  double dropout = 0;   ///< on the attention weights, in [0, 1)
  uint64_t dropout_key = 0;
};

/// Room for the weights, before dropout, that a forward keeps for its backward.
struct AttentionMemory {
  entmax_kernels::WeightMemory* weights;
  int64_t* places;  ///< attention_places(): where they are
};

/// Those weights. chunks[i] is the memory that WeightMemory knows as chunk i.
struct AttentionWeights {
  const std::byte* const* chunks;
  const int64_t* places;
};

template <typename T>
int64_t attention_places(const AttentionInput<T>& input);

/// Writes the context vectors to `output` (rows of the queries, `output_stride` apart).
/// memory: takes the weights; null: they are not kept.
/// nonzero: [heads], to which the number of weights > 0 is added. May be null.
template <typename T>
void attention_forward(const AttentionInput<T>& input, T* output, int64_t output_stride,
                       const AttentionMemory* memory, int64_t* nonzero = nullptr);

/// Gradients from the forward's weights and the cotangent of its output. Each sequence must have
/// keys of its own. The rows of query_gradient … value_gradient must hold zeros, and have the
/// strides of the inputs; alpha_gradient [heads] is added to, and may be null.
template <typename T>
void attention_backward(const AttentionInput<T>& input, const AttentionWeights& weights,
                        const T* output_gradient, int64_t output_stride, T* query_gradient,
                        T* key_gradient, T* value_gradient, double* alpha_gradient);

/// Writes the weights sequence by sequence, head by head, [queries, keys].
template <typename T>
void copy_weights(const AttentionInput<T>& input, const AttentionWeights& weights, T* output);

}  // namespace filigree::model
