#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filigree/entmax/sparse_attention_forward.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#include "filigree/entmax/dropout.h"
#include "filigree/entmax/head_blocks.h"
#include "filigree/entmax/kernels.h"
#include "filigree/entmax/operands-inl.h"
#include "filigree/entmax/products-inl.h"
#include "filigree/entmax/sparse_products-inl.h"
#include "filigree/entmax/stored_weights.h"
#include "filigree/entmax/support-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::entmax_kernels::HWY_NAMESPACE {

/// Solves nothing: for α = 1 and α > 2, whose scores are always solved as dense rows.
struct NoTransform {};

template <class Transform, class T>
class HeadForward {
 public:
  using D = hn::ScalableTag<T>;

  HeadForward(const AttentionHead<T>& head, const Transform& transform, Matrix<T> output,
              WeightMemory* memory, AttentionWorkspace<T>& workspace)
      : head_(head),
        transform_(transform),
        output_(output),
        memory_(memory),
        workspace_(workspace),
        pitch_(ScorePitch(d_, head.keys)),
        dense_pitch_(DensePitch(d_, head.keys)),
        dense_share_(dense_share(head)),
        dense_(!kCompressed || starts_dense(head)) {
    const Matrix<const T> key = InVectors(d_, head.key, head.keys, head.width, workspace.key);
    keys_ = TransposedKeys(d_, key, head.keys, head.width, workspace.columns);
    value_ = InVectors(d_, head.value, head.keys, head.value_width, workspace.value);
    const int64_t lanes = Lanes();
    value_vectors_ = static_cast<size_t>((head.value_width + lanes - 1) / lanes);
  }

  int64_t Run(BlockRange blocks, int64_t* places) {
    int64_t entries = 0;
    const int64_t last = std::min(blocks.last, attention_blocks(head_.queries));
    for (int64_t b = blocks.first; b < last; ++b) {
      entries += Block(b, places ? places + b : nullptr);
    }
    return entries;
  }

 private:
  static constexpr bool kCompressed = !std::is_same_v<Transform, NoTransform>;

  int64_t Lanes() const { return static_cast<int64_t>(hn::Lanes(d_)); }

  int64_t Block(int64_t b, int64_t* place) {
    const BlockRows rows = block_rows(head_, b);
    WeightBlock<T> weights = dense_ ? DenseWeights(rows) : Compressed(rows);
    const bool dense =
        static_cast<double>(entries_) > dense_share_ * static_cast<double>(rows.in_sight);
    if (dense && !dense_) weights = Spread(rows, weights);
    if (!dense && dense_) weights = Pack(rows, weights);
    if (kCompressed) dense_ = dense;
    dense ? DenseOutput(rows, weights) : SparseOutput(rows, weights);
    if (memory_) *place = dense ? KeepDense(rows) : KeepEntries(rows, weights);
    return entries_;
  }

  /// Scores of `count` queries from `first` on and the keys before `last`.
  void Scores(int64_t first, int64_t count, int64_t last, T* scores, int64_t pitch) {
    const size_t vectors = static_cast<size_t>((last + Lanes() - 1) / Lanes());
    Multiply(d_, static_cast<size_t>(count), vectors, static_cast<size_t>(head_.width),
             Entries<T>{head_.query.row(first), static_cast<size_t>(head_.query.stride), 1}, keys_,
             false, scores, static_cast<size_t>(pitch));
    if (head_.bias) AddBias(first, count, last, scores, pitch);
  }

  /// The scale has to come before the bias, and is then no longer the solver's.
  void AddBias(int64_t first, int64_t count, int64_t last, T* scores, int64_t pitch) {
    const T scale = static_cast<T>(head_.scale);
    for (int64_t r = 0; r < count; ++r) {
      const T* const bias = head_.bias + (first + r) * head_.bias_row;
      T* const row = scores + r * pitch;
      for (int64_t j = 0; j < last; ++j) row[j] = row[j] * scale + bias[j * head_.bias_column];
    }
  }

  double SolverScale() const { return head_.bias ? 1 : head_.scale; }

  T* DenseRoom(int64_t rows) {
    if (!memory_) return workspace_.scores.at_least(rows * dense_pitch_);
    return reinterpret_cast<T*>(memory_->reserve(stored_dense_bytes<T>(rows, dense_pitch_)) +
                                kStoredValues);
  }

  WeightBlock<T> DenseWeights(const BlockRows& rows) {
    T* const p = DenseRoom(rows.count);
    Scores(rows.first, rows.count, rows.longest, p, dense_pitch_);
    int64_t support[kBlockQueries];
    forward({rows.count, rows.longest, dense_pitch_, rows.ragged(), SolverScale()}, p, head_.alpha,
            p, static_cast<T*>(nullptr), support);
    entries_ = 0;
    for (int64_t r = 0; r < rows.count; ++r) entries_ += support[r];
    return {true, dense_pitch_, nullptr, nullptr, p};
  }

  WeightBlock<T> Compressed(const BlockRows& rows) {
    if constexpr (kCompressed) {
      const int64_t step = RowsInCache(pitch_);
      constexpr int64_t kMostLanes = HWY_MAX(hn::MaxLanes(D()), 4);
      const int64_t columns = (kMostAcross + kMostLanes) * kMostLanes;
      SupportScratch<T> scratch{
          workspace_.packed.at_least((kMostAcross + 2 * kMostLanes) * kMostLanes),
          workspace_.solver.at_least(columns),
          workspace_.slopes.at_least(std::max(columns, pitch_)),
          workspace_.kept.at_least(step * pitch_)};
      T* const scores = workspace_.scores.at_least(step * pitch_);
      auto [value, key, begin] = EntryRoom(rows);
      begin[0] = 0;
      for (int64_t r = 0; r < rows.count; r += step) {
        const int64_t count = std::min(step, rows.count - r);
        Scores(rows.first + r, count, rows.lengths[r + count - 1], scores, pitch_);
        EntmaxSupport<Transform, D> solver(d_, transform_, static_cast<T>(SolverScale()), scores,
                                           static_cast<size_t>(pitch_), rows.lengths + r, scratch);
        solver.Solve(static_cast<size_t>(count), begin + r, value, key);
      }
      entries_ = begin[rows.count];
      return {false, 0, begin, key, value};
    } else {
      return {};
    }
  }

  struct EntryArrays {
    T* value;
    int32_t *key, *begin;
  };
  EntryArrays EntryRoom(const BlockRows& rows) {
    const int64_t most = rows.in_sight + Lanes();
    return {workspace_.values.at_least(most), workspace_.keys.at_least(most),
            workspace_.begin.at_least(kBlockQueries + 1)};
  }

  WeightBlock<T> Spread(const BlockRows& rows, const WeightBlock<T>& from) {
    T* const p = DenseRoom(rows.count);
    for (int64_t r = 0; r < rows.count; ++r) {
      T* const row = p + r * dense_pitch_;
      std::fill(row, row + rows.longest, T(0));
      for (int32_t e = from.begin[r]; e < from.begin[r + 1]; ++e) row[from.key[e]] = from.value[e];
    }
    return {true, dense_pitch_, nullptr, nullptr, p};
  }

  WeightBlock<T> Pack(const BlockRows& rows, const WeightBlock<T>& from) {
    auto [value, key, begin] = EntryRoom(rows);
    begin[0] = 0;
    for (int64_t r = 0; r < rows.count; ++r) {
      const size_t count =
          PackNonzero(d_, from.value + r * dense_pitch_, nullptr,
                      static_cast<size_t>(rows.lengths[r]), value + begin[r], key + begin[r]);
      begin[r + 1] = begin[r] + static_cast<int32_t>(count);
    }
    entries_ = begin[rows.count];
    return {false, 0, begin, key, value};
  }

  /// Where the output of a row is made: in place unless its width is not in whole vectors.
  Matrix<T> OutputRoom(const BlockRows& rows) {
    const int64_t padded = static_cast<int64_t>(value_vectors_) * Lanes();
    if (padded == head_.value_width) return {output_.row(rows.first), output_.stride};
    return {workspace_.output.at_least(kBlockQueries * padded), padded};
  }

  void Deliver(const BlockRows& rows, Matrix<T> made) {
    if (made.data == output_.row(rows.first)) return;
    for (int64_t r = 0; r < rows.count; ++r) {
      std::copy_n(made.row(r), head_.value_width, output_.row(rows.first + r));
    }
  }

  void DenseOutput(const BlockRows& rows, const WeightBlock<T>& weights) {
    const T* p = weights.value;
    if (head_.dropout > 0) p = drop_rows(head_, rows, p, dense_pitch_, workspace_.dropped);
    const Matrix<T> out = OutputRoom(rows);
    Multiply(d_, static_cast<size_t>(rows.count), value_vectors_, static_cast<size_t>(rows.longest),
             Entries<T>{p, static_cast<size_t>(dense_pitch_), 1},
             Vectors<T>{value_.data, static_cast<size_t>(value_.stride), hn::Lanes(d_)}, false,
             out.data, static_cast<size_t>(out.stride));
    Deliver(rows, out);
  }

  void SparseOutput(const BlockRows& rows, const WeightBlock<T>& weights) {
    const T* p = weights.value;
    if (head_.dropout > 0) {
      T* const dropped = workspace_.dropped.at_least(entries_ + 1);
      entry_factors(head_, rows, weights, dropped);
      for (int64_t e = 0; e < entries_; ++e) dropped[e] *= p[e];
      p = dropped;
    }
    const Matrix<T> out = OutputRoom(rows);
    for (int64_t r = 0; r < rows.count; ++r) {
      const int32_t first = weights.begin[r];
      WeightedSum(d_, value_vectors_, p + first, weights.key + first,
                  static_cast<size_t>(weights.begin[r + 1] - first), value_.data,
                  static_cast<size_t>(value_.stride), out.row(r));
    }
    Deliver(rows, out);
  }

  int64_t KeepDense(const BlockRows& rows) {
    const int64_t bytes = stored_dense_bytes<T>(rows.count, dense_pitch_);
    *reinterpret_cast<StoredWeights*>(memory_->reserve(bytes)) = {dense_pitch_, entries_};
    return memory_->commit(bytes);
  }

  int64_t KeepEntries(const BlockRows& rows, const WeightBlock<T>& weights) {
    const int64_t bytes = stored_entries_bytes<T>(rows.count, entries_);
    std::byte* const to = memory_->reserve(bytes);
    *reinterpret_cast<StoredWeights*>(to) = {0, entries_};
    auto* const value = reinterpret_cast<T*>(to + kStoredValues);
    auto* const key = reinterpret_cast<int32_t*>(value + entries_);
    std::copy_n(weights.value, entries_, value);
    std::copy_n(weights.key, entries_, key);
    std::copy_n(weights.begin, rows.count + 1, key + entries_);
    return memory_->commit(bytes);
  }

  D d_;
  const AttentionHead<T>& head_;
  const Transform& transform_;
  Matrix<T> output_;
  WeightMemory* memory_;
  AttentionWorkspace<T>& workspace_;
  int64_t pitch_, dense_pitch_;
  double dense_share_;
  bool dense_;  // what the next block is expected to be
  Vectors<T> keys_;
  Matrix<const T> value_;
  size_t value_vectors_;
  int64_t entries_ = 0;  // of the present block
};

template <class T>
int64_t Forward(const AttentionHead<T>& head, BlockRange blocks, Matrix<T> output,
                WeightMemory* memory, int64_t* places, AttentionWorkspace<T>& workspace) {
  const auto run = [&](const auto& transform) HWY_ATTR {
    using Transform = std::decay_t<decltype(transform)>;
    HeadForward<Transform, T> work(head, transform, output, memory, workspace);
    return work.Run(blocks, places);
  };
  if (head.alpha == 1.5) return run(Entmax15<T>());
  if (head.alpha == 2) return run(Sparsemax<T>());
  if (head.alpha > 1 && head.alpha < 2) return run(AnyAlpha<T>(head.alpha));
  return run(NoTransform());
}

int64_t ForwardFloat(const AttentionHead<float>& head, BlockRange blocks, Matrix<float> output,
                     WeightMemory* memory, int64_t* places, AttentionWorkspace<float>& workspace) {
  return Forward(head, blocks, output, memory, places, workspace);
}

int64_t ForwardDouble(const AttentionHead<double>& head, BlockRange blocks, Matrix<double> output,
                      WeightMemory* memory, int64_t* places,
                      AttentionWorkspace<double>& workspace) {
  return Forward(head, blocks, output, memory, places, workspace);
}

}  // namespace filigree::entmax_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace filigree::entmax_kernels {

HWY_EXPORT(ForwardFloat);
HWY_EXPORT(ForwardDouble);

template <typename T>
int64_t attention_forward(const AttentionHead<T>& head, BlockRange blocks, Matrix<T> output,
                          WeightMemory* memory, int64_t* places, AttentionWorkspace<T>& workspace) {
  if constexpr (std::is_same_v<T, float>) {
    return HWY_DYNAMIC_DISPATCH(ForwardFloat)(head, blocks, output, memory, places, workspace);
  } else {
    return HWY_DYNAMIC_DISPATCH(ForwardDouble)(head, blocks, output, memory, places, workspace);
  }
}

template int64_t attention_forward(const AttentionHead<float>&, BlockRange, Matrix<float>,
                                   WeightMemory*, int64_t*, AttentionWorkspace<float>&);
template int64_t attention_forward(const AttentionHead<double>&, BlockRange, Matrix<double>,
                                   WeightMemory*, int64_t*, AttentionWorkspace<double>&);

}  // namespace filigree::entmax_kernels
#endif
