// Multi-head attention over packed sequences: scores, α-entmax, dropout and the weighted sum for
// one sentence and head at a time, so that scores live in the first-level cache and padding does
// not exist. No torch; one thread.
#pragma once

#include <cstdint>

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

/// Elements that the attention weights of all sequences and heads take together.
template <typename T>
int64_t attention_weights_size(const AttentionInput<T>& input);

/// Writes the context vectors to `output` (rows of the queries, `output_stride` apart).
/// weights: attention_weights_size() elements that receive the weights before dropout, sequence by
///   sequence, head by head, [queries, keys]; the backward needs them. May be null.
/// nonzero: [heads], to which the number of weights > 0 is added. May be null.
template <typename T>
void attention_forward(const AttentionInput<T>& input, T* output, int64_t output_stride, T* weights,
                       int64_t* nonzero = nullptr);

/// Gradients from the forward's weights and the cotangent of its output. The rows of query_gradient
/// … value_gradient are overwritten (each sequence must have keys of its own), with the strides of
/// the inputs; alpha_gradient [heads] is added to, and may be null.
template <typename T>
void attention_backward(const AttentionInput<T>& input, const T* weights, const T* output_gradient,
                        int64_t output_stride, T* query_gradient, T* key_gradient,
                        T* value_gradient, double* alpha_gradient);

}  // namespace filigree::model
