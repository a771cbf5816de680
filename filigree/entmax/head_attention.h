// The kernels of sparse_attention.h on tensors [batch, head, query or key, d], on several threads.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "filigree/entmax/entmax_attention.h"

namespace filigree::entmax_operators {

/// What the kernels are told. Tensors are of one type, float32 or float64, on the CPU, with the
/// elements of a row side by side; options are complete (scale, lengths of int32).
struct HeadTensors {
  at::Tensor query, key, value;
  std::vector<double> alphas;  ///< one per head
  EntmaxAttentionOptions options;

  int64_t batch() const { return query.size(0); }
  int64_t heads() const { return query.size(1); }
  int64_t queries() const { return query.size(2); }
  int64_t keys() const { return key.size(2); }
};

/// Weights of all heads, compressed, in tensors that autograd can keep.
struct StoredHeads {
  at::Tensor places;               ///< int64 [batch · heads, blocks]
  std::vector<at::Tensor> chunks;  ///< bytes
};

/// Writes the output [batch, head, query, e]. stored may be null.
void attention_forward(const HeadTensors& heads, const at::Tensor& output, StoredHeads* stored);

struct HeadGradients {
  at::Tensor query, key, value,
      alpha;  ///< alpha: float64, one per head; undefined if not asked for
};

HeadGradients attention_backward(const HeadTensors& heads, const StoredHeads& stored,
                                 const at::Tensor& output_gradient, bool with_alpha);

/// Stored weights as a dense tensor and as compressed rows.
at::Tensor dense_weights(const HeadTensors& heads, const StoredHeads& stored);
AttentionRows weight_rows(const HeadTensors& heads, const StoredHeads& stored);

}  // namespace filigree::entmax_operators
