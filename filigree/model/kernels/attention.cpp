#include "filigree/model/kernels/attention.h"

#include <algorithm>
#include <cmath>

#include "filigree/base/random.h"

namespace filigree::model {
namespace {

using entmax_kernels::AttentionHead;
using entmax_kernels::WeightBlock;
using entmax_kernels::WeightMemory;

// The rows of one sequence in a matrix, of the columns of one head.
template <typename T>
entmax_kernels::Matrix<T> rows_of(T* data, int64_t stride, const Spans& spans, int64_t sequence,
                                  int64_t column) {
  return {data + spans.begin[sequence] * stride + column, stride};
}

template <typename T>
AttentionHead<T> head_of(const AttentionInput<T>& in, int64_t s, int64_t h) {
  const int64_t column = h * in.head_size;
  AttentionHead<T> head{};
  head.queries = in.queries.length[s];
  head.keys = in.keys.length[s];
  head.width = head.value_width = in.head_size;
  head.query = rows_of(in.query, in.query_stride, in.queries, s, column);
  head.key = rows_of(in.key, in.key_stride, in.keys, s, column);
  head.value = rows_of(in.value, in.value_stride, in.keys, s, column);
  head.alpha = in.alpha[h];
  head.scale = 1 / std::sqrt(static_cast<double>(in.head_size));
  head.lead = in.causal ? 1 : head.keys;
  head.dropout = in.dropout;
  head.dropout_key = combine(in.dropout_key, static_cast<uint64_t>(s * in.heads + h));
  head.dropout_row = head.keys;
  return head;
}

template <typename T>
WeightBlock<T> block_at(const AttentionWeights& weights, int64_t place) {
  return entmax_kernels::weight_block<T>(weights.chunks[WeightMemory::chunk_of(place)] +
                                         WeightMemory::offset_of(place));
}

// Calls work(head, sequence, number of the head, number of its first block) for all heads.
template <typename T, typename Work>
void each_head(const AttentionInput<T>& in, Work&& work) {
  int64_t block = 0;
  for (int64_t s = 0; s < in.sequences; ++s) {
    for (int64_t h = 0; h < in.heads; ++h) {
      work(head_of(in, s, h), s, h, block);
      block += entmax_kernels::attention_blocks(in.queries.length[s]);
    }
  }
}

// Row r of a block, as long as `seen` where it is dense.
template <typename T>
void copy_row(const WeightBlock<T>& block, int64_t r, int64_t seen, int64_t keys, T* output) {
  std::fill_n(output, keys, T(0));
  if (block.dense) {
    std::copy_n(block.value + r * block.pitch, seen, output);
  } else {
    for (int32_t e = block.begin[r]; e < block.begin[r + 1]; ++e) {
      output[block.key[e]] = block.value[e];
    }
  }
}

}  // namespace

template <typename T>
int64_t attention_places(const AttentionInput<T>& in) {
  int64_t blocks = 0;
  for (int64_t s = 0; s < in.sequences; ++s) {
    blocks += entmax_kernels::attention_blocks(in.queries.length[s]);
  }
  return blocks * in.heads;
}

template <typename T>
void attention_forward(const AttentionInput<T>& in, T* output, int64_t output_stride,
                       const AttentionMemory* memory, int64_t* nonzero) {
  entmax_kernels::AttentionWorkspace<T> workspace;
  each_head(in, [&](const AttentionHead<T>& head, int64_t s, int64_t h, int64_t block) {
    const int64_t count = entmax_kernels::attention_forward<T>(
        head, {}, rows_of(output, output_stride, in.queries, s, h * in.head_size),
        memory ? memory->weights : nullptr, memory ? memory->places + block : nullptr, workspace);
    if (nonzero) nonzero[h] += count;
  });
}

template <typename T>
void attention_backward(const AttentionInput<T>& in, const AttentionWeights& weights,
                        const T* output_gradient, int64_t output_stride, T* query_gradient,
                        T* key_gradient, T* value_gradient, double* alpha_gradient) {
  entmax_kernels::AttentionWorkspace<T> workspace;
  each_head(in, [&](const AttentionHead<T>& head, int64_t s, int64_t h, int64_t block) {
    const int64_t column = h * in.head_size;
    const entmax_kernels::AttentionGradients<T> gradients{
        rows_of(query_gradient, in.query_stride, in.queries, s, column),
        rows_of(key_gradient, in.key_stride, in.keys, s, column),
        rows_of(value_gradient, in.value_stride, in.keys, s, column), alpha_gradient != nullptr};
    const int64_t* const places = weights.places + block;
    const double sum = entmax_kernels::attention_backward<T>(
        head, {}, [&](int64_t b) { return block_at<T>(weights, places[b]); },
        rows_of(output_gradient, output_stride, in.queries, s, column), gradients, workspace);
    if (alpha_gradient) alpha_gradient[h] += sum;
  });
}

template <typename T>
void copy_weights(const AttentionInput<T>& in, const AttentionWeights& weights, T* output) {
  each_head(in, [&](const AttentionHead<T>& head, int64_t, int64_t, int64_t block) {
    for (int64_t i = 0; i < head.queries; ++i, output += head.keys) {
      const int64_t b = i / entmax_kernels::kBlockQueries;
      copy_row(block_at<T>(weights, weights.places[block + b]), i % entmax_kernels::kBlockQueries,
               std::min(i + head.lead, head.keys), head.keys, output);
    }
  });
}

#define FILIGREE_INSTANTIATE(T)                                                                  \
  template int64_t attention_places(const AttentionInput<T>&);                                   \
  template void attention_forward(const AttentionInput<T>&, T*, int64_t, const AttentionMemory*, \
                                  int64_t*);                                                     \
  template void attention_backward(const AttentionInput<T>&, const AttentionWeights&, const T*,  \
                                   int64_t, T*, T*, T*, double*);                                \
  template void copy_weights(const AttentionInput<T>&, const AttentionWeights&, T*)
FILIGREE_INSTANTIATE(float);
FILIGREE_INSTANTIATE(double);
#undef FILIGREE_INSTANTIATE

}  // namespace filigree::model
