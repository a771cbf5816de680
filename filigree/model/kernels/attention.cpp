#include "filigree/model/kernels/attention.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "filigree/base/random.h"
#include "filigree/entmax/dropout.h"
#include "filigree/entmax/kernels.h"

namespace filigree::model {
namespace {

// C [m, n] = scale · op(A) op(B), row-major; BLAS's own names.
void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int64_t m, int64_t n, int64_t k, float scale,
          const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc) {
  cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, scale, a, lda, b, ldb, 0.0f, c, ldc);
}
void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int64_t m, int64_t n, int64_t k, double scale,
          const double* a, int64_t lda, const double* b, int64_t ldb, double* c, int64_t ldc) {
  cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, scale, a, lda, b, ldb, 0.0, c, ldc);
}

// What one sequence and head work on.
template <typename T>
struct Block {
  int64_t query_length, key_length;
  int64_t query_begin, key_begin;  // rows
  int64_t head_column;
  uint64_t dropout_key;

  int64_t size() const { return query_length * key_length; }
};

template <typename T>
Block<T> block_of(const AttentionInput<T>& in, int64_t sequence, int64_t head) {
  return {in.queries.length[sequence],
          in.keys.length[sequence],
          in.queries.begin[sequence],
          in.keys.begin[sequence],
          head * in.head_size,
          combine(in.dropout_key, static_cast<uint64_t>(sequence * in.heads + head))};
}

template <typename T>
int64_t largest_block(const AttentionInput<T>& in) {
  int64_t largest = 0;
  for (int64_t s = 0; s < in.sequences; ++s) {
    largest = std::max<int64_t>(largest, int64_t{in.queries.length[s]} * in.keys.length[s]);
  }
  return largest;
}

// Row r of a causal block has r + 1 keys.
template <typename T>
std::vector<int32_t> causal_lengths(const AttentionInput<T>& in) {
  if (!in.causal || in.sequences == 0) return {};
  std::vector<int32_t> lengths(
      static_cast<size_t>(*std::max_element(in.queries.length, in.queries.length + in.sequences)));
  std::iota(lengths.begin(), lengths.end(), 1);
  return lengths;
}

entmax_kernels::Rows rows_of(int64_t queries, int64_t keys, const std::vector<int32_t>& lengths) {
  return {queries, keys, keys, lengths.empty() ? nullptr : lengths.data()};
}

template <typename T>
T scale_of(const AttentionInput<T>& in) {
  return static_cast<T>(1.0 / std::sqrt(static_cast<double>(in.head_size)));
}

}  // namespace

template <typename T>
int64_t attention_weights_size(const AttentionInput<T>& in) {
  int64_t size = 0;
  for (int64_t s = 0; s < in.sequences; ++s) {
    size += int64_t{in.queries.length[s]} * in.keys.length[s];
  }
  return size * in.heads;
}

template <typename T>
void attention_forward(const AttentionInput<T>& in, T* output, int64_t output_stride, T* weights,
                       int64_t* nonzero) {
  const int64_t largest = largest_block(in);
  const std::vector<int32_t> lengths = causal_lengths(in);
  std::vector<T> scratch(static_cast<size_t>(weights ? 0 : largest));
  std::vector<T> dropped(static_cast<size_t>(in.dropout > 0 ? largest : 0));
  for (int64_t s = 0; s < in.sequences; ++s) {
    for (int64_t h = 0; h < in.heads; ++h) {
      const Block<T> b = block_of(in, s, h);
      T* const p = weights ? weights : scratch.data();
      gemm(CblasNoTrans, CblasTrans, b.query_length, b.key_length, in.head_size, scale_of(in),
           in.query + b.query_begin * in.query_stride + b.head_column, in.query_stride,
           in.key + b.key_begin * in.key_stride + b.head_column, in.key_stride, p, b.key_length);
      entmax_kernels::forward(rows_of(b.query_length, b.key_length, lengths), p, in.alpha[h], p);
      if (nonzero) nonzero[h] += std::count_if(p, p + b.size(), [](T w) { return w > 0; });
      const T* used = p;
      if (in.dropout > 0) {
        dropout_add(p, static_cast<const T*>(nullptr), dropped.data(), b.size(), in.dropout,
                    b.dropout_key);
        used = dropped.data();
      }
      gemm(CblasNoTrans, CblasNoTrans, b.query_length, in.head_size, b.key_length, T(1), used,
           b.key_length, in.value + b.key_begin * in.value_stride + b.head_column, in.value_stride,
           output + b.query_begin * output_stride + b.head_column, output_stride);
      if (weights) weights += b.size();
    }
  }
}

template <typename T>
void attention_backward(const AttentionInput<T>& in, const T* weights, const T* output_gradient,
                        int64_t output_stride, T* query_gradient, T* key_gradient,
                        T* value_gradient, double* alpha_gradient) {
  const int64_t largest = largest_block(in);
  const std::vector<int32_t> lengths = causal_lengths(in);
  std::vector<T> gradient(static_cast<size_t>(largest));
  std::vector<T> dropped(static_cast<size_t>(in.dropout > 0 ? largest : 0));
  std::vector<double> alpha_rows(static_cast<size_t>(
      alpha_gradient && in.sequences > 0
          ? *std::max_element(in.queries.length, in.queries.length + in.sequences)
          : 0));
  for (int64_t s = 0; s < in.sequences; ++s) {
    for (int64_t h = 0; h < in.heads; ++h) {
      const Block<T> b = block_of(in, s, h);
      const T* const query = in.query + b.query_begin * in.query_stride + b.head_column;
      const T* const key = in.key + b.key_begin * in.key_stride + b.head_column;
      const T* const value = in.value + b.key_begin * in.value_stride + b.head_column;
      const T* const d_output = output_gradient + b.query_begin * output_stride + b.head_column;
      const T* used = weights;
      if (in.dropout > 0) {
        dropout_add(weights, static_cast<const T*>(nullptr), dropped.data(), b.size(), in.dropout,
                    b.dropout_key);
        used = dropped.data();
      }
      // dV = P'ᵀ dO, dP' = dO Vᵀ.
      gemm(CblasTrans, CblasNoTrans, b.key_length, in.head_size, b.query_length, T(1), used,
           b.key_length, d_output, output_stride,
           value_gradient + b.key_begin * in.value_stride + b.head_column, in.value_stride);
      gemm(CblasNoTrans, CblasTrans, b.query_length, b.key_length, in.head_size, T(1), d_output,
           output_stride, value, in.value_stride, gradient.data(), b.key_length);
      if (in.dropout > 0) {
        dropout_add(gradient.data(), static_cast<const T*>(nullptr), gradient.data(), b.size(),
                    in.dropout, b.dropout_key);
      }
      entmax_kernels::backward(rows_of(b.query_length, b.key_length, lengths), weights,
                               gradient.data(), in.alpha[h], gradient.data(),
                               alpha_gradient ? alpha_rows.data() : nullptr);
      if (alpha_gradient) {
        alpha_gradient[h] = std::accumulate(alpha_rows.begin(), alpha_rows.begin() + b.query_length,
                                            alpha_gradient[h]);
      }
      // dQ = scale · dS K, dK = scale · dSᵀ Q.
      gemm(CblasNoTrans, CblasNoTrans, b.query_length, in.head_size, b.key_length, scale_of(in),
           gradient.data(), b.key_length, key, in.key_stride,
           query_gradient + b.query_begin * in.query_stride + b.head_column, in.query_stride);
      gemm(CblasTrans, CblasNoTrans, b.key_length, in.head_size, b.query_length, scale_of(in),
           gradient.data(), b.key_length, query, in.query_stride,
           key_gradient + b.key_begin * in.key_stride + b.head_column, in.key_stride);
      weights += b.size();
    }
  }
}

#define FILIGREE_INSTANTIATE(T)                                                                   \
  template int64_t attention_weights_size(const AttentionInput<T>&);                              \
  template void attention_forward(const AttentionInput<T>&, T*, int64_t, T*, int64_t*);           \
  template void attention_backward(const AttentionInput<T>&, const T*, const T*, int64_t, T*, T*, \
                                   T*, double*)
FILIGREE_INSTANTIATE(float);
FILIGREE_INSTANTIATE(double);
#undef FILIGREE_INSTANTIATE

}  // namespace filigree::model
