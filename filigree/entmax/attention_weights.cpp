#include "filigree/entmax/attention_weights.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "filigree/entmax/dropout.h"
#include "filigree/entmax/kernels.h"

namespace filigree::entmax_kernels {
namespace {

// How many keys each query of a sequence sees.
class KeysInSight {
 public:
  explicit KeysInSight(const AttentionScores& shape)
      : shape_(shape), lengths_(static_cast<size_t>(shape.queries)) {}

  // Null when every query sees all keys.
  const int32_t* of(int64_t sequence) {
    if (!shape_.causal && !shape_.key_lengths) return nullptr;
    if (sequence != sequence_) fill(sequence);
    return lengths_.data();
  }

 private:
  void fill(int64_t sequence) {
    sequence_ = sequence;
    const int64_t keys = shape_.key_lengths ? shape_.key_lengths[sequence] : shape_.keys;
    for (int64_t i = 0; i < shape_.queries; ++i) {
      const int64_t before = shape_.causal ? i + 1 + shape_.keys - shape_.queries : shape_.keys;
      lengths_[static_cast<size_t>(i)] = static_cast<int32_t>(std::clamp<int64_t>(before, 0, keys));
    }
  }

  const AttentionScores& shape_;
  std::vector<int32_t> lengths_;
  int64_t sequence_ = -1;
};

// Dropout of the entries in sight; out is 0 elsewhere if `clear`.
template <typename T>
void drop(const AttentionScores& shape, int64_t block, const int32_t* lengths, const T* in, T* out,
          bool clear) {
  const T* const no_residual = nullptr;
  const int64_t base = block * shape.queries * shape.keys;
  if (!lengths) {
    dropout_add(in, no_residual, out, shape.queries * shape.keys, shape.dropout, shape.dropout_key,
                static_cast<uint64_t>(base));
    return;
  }
  for (int64_t i = 0; i < shape.queries; ++i) {
    const int64_t row = i * shape.keys;
    dropout_add(in + row, no_residual, out + row, lengths[i], shape.dropout, shape.dropout_key,
                static_cast<uint64_t>(base + row));
    if (clear) std::fill(out + row + lengths[i], out + row + shape.keys, T(0));
  }
}

template <typename T>
void weights_of(const AttentionScores& shape, int64_t first, int64_t last, T* scores, T* dropped) {
  KeysInSight in_sight(shape);
  const int64_t size = shape.queries * shape.keys;
  for (int64_t block = first; block < last; ++block) {
    const int32_t* const lengths = in_sight.of(block / shape.heads);
    T* const p = scores + block * size;
    forward({shape.queries, shape.keys, shape.keys, lengths, shape.scale}, p,
            shape.alpha[block % shape.heads], p);
    if (dropped && shape.dropout > 0) {
      drop(shape, block, lengths, p, dropped + block * size, /*clear=*/true);
    } else if (dropped) {
      std::copy(p, p + size, dropped + block * size);
    }
  }
}

template <typename T>
void gradients_of(const AttentionScores& shape, int64_t first, int64_t last, const T* weights,
                  T* gradient, double* alpha_gradient) {
  KeysInSight in_sight(shape);
  const int64_t size = shape.queries * shape.keys;
  std::vector<double> per_row(static_cast<size_t>(alpha_gradient ? shape.queries : 0));
  for (int64_t block = first; block < last; ++block) {
    const int32_t* const lengths = in_sight.of(block / shape.heads);
    T* const g = gradient + block * size;
    if (shape.dropout > 0) drop(shape, block, lengths, g, g, /*clear=*/false);
    backward({shape.queries, shape.keys, shape.keys, lengths, shape.scale}, weights + block * size,
             g, shape.alpha[block % shape.heads], g, alpha_gradient ? per_row.data() : nullptr);
    if (alpha_gradient) {
      alpha_gradient[block] = std::accumulate(per_row.begin(), per_row.end(), 0.0);
    }
  }
}

}  // namespace

void attention_weights(const AttentionScores& shape, int64_t first, int64_t last, float* scores,
                       float* dropped) {
  weights_of(shape, first, last, scores, dropped);
}

void attention_weights(const AttentionScores& shape, int64_t first, int64_t last, double* scores,
                       double* dropped) {
  weights_of(shape, first, last, scores, dropped);
}

void attention_weights_backward(const AttentionScores& shape, int64_t first, int64_t last,
                                const float* weights, float* gradient, double* alpha_gradient) {
  gradients_of(shape, first, last, weights, gradient, alpha_gradient);
}

void attention_weights_backward(const AttentionScores& shape, int64_t first, int64_t last,
                                const double* weights, double* gradient, double* alpha_gradient) {
  gradients_of(shape, first, last, weights, gradient, alpha_gradient);
}

}  // namespace filigree::entmax_kernels
