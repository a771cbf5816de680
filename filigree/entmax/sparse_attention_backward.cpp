#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filigree/entmax/sparse_attention_backward.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <vector>

#include "filigree/entmax/backward-inl.h"
#include "filigree/entmax/head_blocks.h"
#include "filigree/entmax/kernels.h"
#include "filigree/entmax/operands-inl.h"
#include "filigree/entmax/products-inl.h"
#include "filigree/entmax/sparse_products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::entmax_kernels::HWY_NAMESPACE {

/// Gradient rows in whole vectors: the caller's own, or a copy that is added to them at the end.
template <class T>
class Accumulator {
 public:
  template <class D>
  Accumulator(D d, Matrix<T> target, int64_t rows, int64_t width, Room<T>& room)
      : target_(target), rows_(rows), width_(width) {
    const auto padded = static_cast<int64_t>(PaddedWidth(d, static_cast<size_t>(width)));
    if (padded == width) {
      sum_ = target;
    } else {
      sum_ = {room.at_least(rows * padded), padded};
      std::fill_n(sum_.data, rows * padded, T(0));
    }
  }
  Matrix<T> sum() const { return sum_; }
  void Deliver() const {
    if (sum_.data == target_.data) return;
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t i = 0; i < width_; ++i) target_.row(r)[i] += sum_.row(r)[i];
    }
  }

 private:
  Matrix<T> target_, sum_;
  int64_t rows_, width_;
};

template <class T>
class HeadBackward {
 public:
  using D = hn::ScalableTag<T>;

  HeadBackward(const AttentionHead<T>& head, Matrix<const T> output_gradient,
               const AttentionGradients<T>& gradients, AttentionWorkspace<T>& workspace)
      : head_(head),
        gradients_(gradients),
        workspace_(workspace),
        query_(InVectors(d_, head.query, head.queries, head.width, workspace.query)),
        key_(InVectors(d_, head.key, head.keys, head.width, workspace.key)),
        value_(InVectors(d_, head.value, head.keys, head.value_width, workspace.value)),
        output_gradient_(
            InVectors(d_, output_gradient, head.queries, head.value_width, workspace.output)),
        key_sum_(d_, gradients.key, head.keys, head.width, workspace.key_sum),
        value_sum_(d_, gradients.value, head.keys, head.value_width, workspace.value_sum),
        vectors_(PaddedWidth(d_, static_cast<size_t>(head.width)) / hn::Lanes(d_)),
        value_vectors_(PaddedWidth(d_, static_cast<size_t>(head.value_width)) / hn::Lanes(d_)) {}

  double Run(BlockRange blocks, const FindBlock<T>& find) {
    double alpha_gradient = 0;
    const int64_t last = std::min(blocks.last, attention_blocks(head_.queries));
    for (int64_t b = blocks.first; b < last; ++b) {
      const BlockRows rows = block_rows(head_, b);
      const WeightBlock<T> weights = find(b);
      if (weights.dense) {
        alpha_gradient += Sparse() + Dense(rows, weights);
        continue;
      }
      parts_.push_back({rows, weights, entries_});
      entries_ += weights.begin[rows.count];
      if (Enough()) alpha_gradient += Sparse();
    }
    alpha_gradient += Sparse();
    key_sum_.Deliver();
    value_sum_.Deliver();
    return alpha_gradient;
  }

 private:
  double Dense(const BlockRows& rows, const WeightBlock<T>& weights) {
    if (!value_columns_.data) {
      value_columns_ =
          TransposedKeys(d_, value_, head_.keys, head_.value_width, workspace_.columns);
    }
    const size_t count = static_cast<size_t>(rows.count), keys = static_cast<size_t>(rows.longest);
    const size_t pitch = static_cast<size_t>(weights.pitch), lanes = hn::Lanes(d_);
    const T* used = weights.value;
    if (head_.dropout > 0) {
      used = drop_rows(head_, rows, weights.value, weights.pitch, workspace_.dropped);
    }
    const Matrix<const T> cotangent{output_gradient_.row(rows.first), output_gradient_.stride};
    // dV += P'ᵀ dO, dP' = dO Vᵀ.
    Multiply(d_, keys, value_vectors_, count, Entries<T>{used, 1, pitch}, RowVectors(cotangent),
             true, value_sum_.sum().data, static_cast<size_t>(value_sum_.sum().stride));
    T* const dz = workspace_.scores.at_least(rows.count * weights.pitch);
    Multiply(d_, count, (keys + lanes - 1) / lanes, static_cast<size_t>(head_.value_width),
             Entries<T>{cotangent.data, static_cast<size_t>(cotangent.stride), 1}, value_columns_,
             false, dz, pitch);
    if (head_.dropout > 0) Drop(rows, dz, weights.pitch);
    double* const per_row = gradients_.alpha ? workspace_.alpha_rows.at_least(rows.count) : nullptr;
    backward({rows.count, rows.longest, weights.pitch, rows.ragged(), head_.scale}, weights.value,
             dz, head_.alpha, dz, per_row);
    // dK += dSᵀ Q, dQ = dS K.
    const Matrix<const T> query{query_.row(rows.first), query_.stride};
    Multiply(d_, keys, vectors_, count, Entries<T>{dz, 1, pitch}, RowVectors(query), true,
             key_sum_.sum().data, static_cast<size_t>(key_sum_.sum().stride));
    const Matrix<T> out = QueryRoom(rows.first, rows.count);
    Multiply(d_, count, vectors_, keys, Entries<T>{dz, pitch, 1}, RowVectors(key_), false, out.data,
             static_cast<size_t>(out.stride));
    DeliverQuery(rows, out);
    return per_row ? std::accumulate(per_row, per_row + rows.count, 0.0) : 0;
  }

  // Compressed blocks are taken together until a key meets several of their entries: its rows come
  // from far away, those of the queries stay in the second-level cache.
  struct Part {
    BlockRows rows;
    WeightBlock<T> weights;
    int32_t offset;  // of its entries among those of all parts
  };

  bool Enough() const {
    constexpr int64_t kEntriesPerKey = 4, kCache = int64_t{1} << 19;
    const int64_t row_bytes = (2 * head_.width + head_.value_width) * int64_t{sizeof(T)};
    return entries_ >= kEntriesPerKey * head_.keys || (Span() + kBlockQueries) * row_bytes > kCache;
  }

  int64_t First() const { return parts_.front().rows.first; }
  int64_t Span() const { return parts_.back().rows.first + parts_.back().rows.count - First(); }

  double Sparse() {
    if (parts_.empty()) return 0;
    const KeyOrder order = OrderByKey();
    const auto keys = static_cast<size_t>(parts_.back().rows.longest);
    T* const dz = workspace_.values.at_least(entries_ + Lanes());
    T* const used = workspace_.dropped.at_least(entries_ + 1);
    T* const factors = head_.dropout > 0 ? workspace_.factors.at_least(entries_ + 1) : nullptr;
    for (const Part& part : parts_) {
      const int32_t count = part.weights.begin[part.rows.count];
      std::copy_n(part.weights.value, count, used + part.offset);
      if (factors) entry_factors(head_, part.rows, part.weights, factors + part.offset);
    }
    for (int32_t e = 0; factors && e < entries_; ++e) used[e] *= factors[e];
    ProductsOfKeys(d_, value_vectors_, keys, order, output_gradient_.row(First()),
                   static_cast<size_t>(output_gradient_.stride), used, value_, value_sum_.sum(),
                   dz);
    for (int32_t e = 0; factors && e < entries_; ++e) dz[e] *= factors[e];

    double alpha_gradient = 0;
    WithSlope<T>(head_.alpha, [&](const auto& slope) HWY_ATTR {
      for (const Part& part : parts_) {
        alpha_gradient += gradients_.alpha ? Scores<true>(slope, part, dz + part.offset)
                                           : Scores<false>(slope, part, dz + part.offset);
      }
    });

    const Matrix<T> out = QueryRoom(First(), Span());
    for (const Part& part : parts_) {
      for (int64_t r = 0; r < part.rows.count; ++r) {
        std::fill_n(out.row(part.rows.first - First() + r), vectors_ * hn::Lanes(d_), T(0));
      }
    }
    SumsOfKeys(d_, vectors_, keys, order, query_.row(First()), static_cast<size_t>(query_.stride),
               dz, key_, key_sum_.sum(), out.data, static_cast<size_t>(out.stride));
    for (const Part& part : parts_) {
      DeliverQuery(part.rows, {out.row(part.rows.first - First()), out.stride});
    }
    parts_.clear();
    entries_ = 0;
    return alpha_gradient;
  }

  /// Replaces dp by the gradient of the scores, row by row.
  template <bool kWithAlpha, class Slope>
  HWY_INLINE double Scores(const Slope& slope, const Part& part, T* dz) {
    const int32_t* const begin = part.weights.begin;
    int32_t longest = 0;
    for (int64_t r = 0; r < part.rows.count; ++r)
      longest = std::max(longest, begin[r + 1] - begin[r]);
    const int64_t room = longest + Lanes();
    T* const scratch = workspace_.slopes.at_least(3 * room);
    double sum = 0;
    for (int64_t r = 0; r < part.rows.count; ++r) {
      const int32_t first = begin[r];
      sum += BackwardRow<kWithAlpha>(d_, slope, static_cast<T>(head_.scale),
                                     part.weights.value + first, dz + first,
                                     static_cast<size_t>(begin[r + 1] - first), dz + first, scratch,
                                     scratch + room, scratch + 2 * room);
    }
    return sum;
  }

  KeyOrder OrderByKey() {
    const int64_t keys = parts_.back().rows.longest;
    int32_t* const begin = workspace_.begin.at_least(keys + 2);
    int32_t* const row = workspace_.order.at_least(2 * int64_t{entries_} + 2);
    int32_t* const slot = row + entries_ + 1;
    std::fill_n(begin, keys + 2, 0);
    for (const Part& part : parts_) {
      const WeightBlock<T>& weights = part.weights;
      const int32_t count = weights.begin[part.rows.count];
      for (int32_t e = 0; e < count; ++e) ++begin[weights.key[e] + 2];
    }
    for (int64_t j = 2; j < keys + 2; ++j) begin[j] += begin[j - 1];
    // begin[j + 1] moves from the beginning of key j to its end, the beginning of the next.
    for (const Part& part : parts_) {
      const WeightBlock<T>& weights = part.weights;
      for (int64_t r = 0; r < part.rows.count; ++r) {
        for (int32_t e = weights.begin[r]; e < weights.begin[r + 1]; ++e) {
          const int32_t at = begin[weights.key[e] + 1]++;
          row[at] = static_cast<int32_t>(part.rows.first - First() + r);
          slot[at] = part.offset + e;
        }
      }
    }
    return {begin, row, slot};
  }

  void Drop(const BlockRows& rows, T* dz, int64_t pitch) {
    for (int64_t r = 0; r < rows.count; ++r) {
      const auto first = static_cast<uint64_t>((rows.first + r) * head_.dropout_row);
      dropout_add(dz + r * pitch, static_cast<const T*>(nullptr), dz + r * pitch, rows.lengths[r],
                  head_.dropout, head_.dropout_key, head_.dropout_first + first);
    }
  }

  Vectors<T> RowVectors(Matrix<const T> matrix) const {
    return {matrix.data, static_cast<size_t>(matrix.stride), hn::Lanes(d_)};
  }

  Matrix<T> QueryRoom(int64_t first, int64_t count) {
    const int64_t padded = static_cast<int64_t>(vectors_) * Lanes();
    if (padded == head_.width) return {gradients_.query.row(first), gradients_.query.stride};
    return {workspace_.query_sum.at_least(count * padded), padded};
  }

  void DeliverQuery(const BlockRows& rows, Matrix<T> made) {
    if (made.data == gradients_.query.row(rows.first)) return;
    for (int64_t r = 0; r < rows.count; ++r) {
      std::copy_n(made.row(r), head_.width, gradients_.query.row(rows.first + r));
    }
  }

  int64_t Lanes() const { return static_cast<int64_t>(hn::Lanes(d_)); }

  D d_;
  const AttentionHead<T>& head_;
  const AttentionGradients<T>& gradients_;
  AttentionWorkspace<T>& workspace_;
  Matrix<const T> query_, key_, value_, output_gradient_;
  Accumulator<T> key_sum_, value_sum_;
  size_t vectors_, value_vectors_;
  Vectors<T> value_columns_{nullptr, 0, 0};
  std::vector<Part> parts_;
  int32_t entries_ = 0;  // of all parts
};

double BackwardFloat(const AttentionHead<float>& head, BlockRange blocks,
                     const FindBlock<float>& find, Matrix<const float> output_gradient,
                     const AttentionGradients<float>& gradients,
                     AttentionWorkspace<float>& workspace) {
  return HeadBackward<float>(head, output_gradient, gradients, workspace).Run(blocks, find);
}

double BackwardDouble(const AttentionHead<double>& head, BlockRange blocks,
                      const FindBlock<double>& find, Matrix<const double> output_gradient,
                      const AttentionGradients<double>& gradients,
                      AttentionWorkspace<double>& workspace) {
  return HeadBackward<double>(head, output_gradient, gradients, workspace).Run(blocks, find);
}

}  // namespace filigree::entmax_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace filigree::entmax_kernels {

HWY_EXPORT(BackwardFloat);
HWY_EXPORT(BackwardDouble);

template <typename T>
double attention_backward(const AttentionHead<T>& head, BlockRange blocks, const FindBlock<T>& find,
                          Matrix<const T> output_gradient, const AttentionGradients<T>& gradients,
                          AttentionWorkspace<T>& workspace) {
  if constexpr (std::is_same_v<T, float>) {
    return HWY_DYNAMIC_DISPATCH(BackwardFloat)(head, blocks, find, output_gradient, gradients,
                                               workspace);
  } else {
    return HWY_DYNAMIC_DISPATCH(BackwardDouble)(head, blocks, find, output_gradient, gradients,
                                                workspace);
  }
}

template double attention_backward(const AttentionHead<float>&, BlockRange, const FindBlock<float>&,
                                   Matrix<const float>, const AttentionGradients<float>&,
                                   AttentionWorkspace<float>&);
template double attention_backward(const AttentionHead<double>&, BlockRange,
                                   const FindBlock<double>&, Matrix<const double>,
                                   const AttentionGradients<double>&, AttentionWorkspace<double>&);

}  // namespace filigree::entmax_kernels
#endif
