#include "filigree/translate/row_attention.h"

#include <algorithm>
#include <cmath>

#include "filigree/entmax/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filigree/translate/row_attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace filigree::translate {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
/// Keys scored at a time.
constexpr int kKeys = 4;

/// The sums of the lanes of four vectors.
template <class D, class V>
HWY_INLINE void StoreSums(D d, V a, V b, V c, V e, float* sums) {
  if constexpr (hn::MaxLanes(d) == kKeys) {
    const hn::Repartition<double, D> pairs;
    const auto ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
    const auto ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
    const auto x = hn::BitCast(pairs, ab), y = hn::BitCast(pairs, ce);
    hn::StoreU(hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, x, y)),
                       hn::BitCast(d, hn::InterleaveUpper(pairs, x, y))),
               d, sums);
  } else {
    const hn::Half<D> half;
    const auto fold = [&](V v) HWY_ATTR {
      return hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v));
    };
    StoreSums(half, fold(a), fold(b), fold(c), fold(e), sums);
  }
}

/// scores[j] = ⟨query, key j⟩ for four keys. The size is a multiple of the vector's.
template <class D>
HWY_INLINE void FourScores(D d, const float* query, const float* const* keys, int64_t offset,
                           int64_t size, float* scores) {
  constexpr int64_t kLanes = hn::MaxLanes(d);
  const float *const k0 = keys[0] + offset, *const k1 = keys[1] + offset,
                     *const k2 = keys[2] + offset, *const k3 = keys[3] + offset;
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  for (int64_t i = 0; i < size; i += kLanes) {
    const auto q = hn::LoadU(d, query + i);
    s0 = hn::MulAdd(q, hn::LoadU(d, k0 + i), s0);
    s1 = hn::MulAdd(q, hn::LoadU(d, k1 + i), s1);
    s2 = hn::MulAdd(q, hn::LoadU(d, k2 + i), s2);
    s3 = hn::MulAdd(q, hn::LoadU(d, k3 + i), s3);
  }
  StoreSums(d, s0, s1, s2, s3, scores);
}

/// scores[h, r, j] = ⟨query of row r, its j-th key⟩ within head h; up to three numbers after a
/// row's last score are written too.
template <class D>
void Scores(D d, const RowAttention& in, float* scores) {
  const int64_t pitch = in.pitch();
  for (int64_t r = 0; r < in.rows; ++r) {
    const float* const query = in.query + r * in.query_stride;
    const float* const* const keys = in.keys[r];
    const int64_t length = in.lengths[r];
    for (int64_t j = 0; j < length; j += kKeys) {
      const float* four[kKeys];
      for (int k = 0; k < kKeys; ++k) four[k] = keys[std::min(j + k, length - 1)];
      for (int64_t h = 0; h < in.heads; ++h) {
        const int64_t first = h * in.head_size;
        FourScores(d, query + first, four, in.key_offset + first, in.head_size,
                   scores + (h * in.rows + r) * pitch + j);
      }
    }
  }
}

#endif  // HWY_TARGET

void AnyScores(const RowAttention& in, float* scores) {
  for (int64_t r = 0; r < in.rows; ++r) {
    for (int64_t j = 0; j < in.lengths[r]; ++j) {
      for (int64_t h = 0; h < in.heads; ++h) {
        const float* const query = in.query + r * in.query_stride + h * in.head_size;
        const float* const key = in.keys[r][j] + in.key_offset + h * in.head_size;
        float sum = 0;
        for (int64_t i = 0; i < in.head_size; ++i) sum += query[i] * key[i];
        scores[(h * in.rows + r) * in.pitch() + j] = sum;
      }
    }
  }
}

void AllScores(const RowAttention& in, float* scores) {
#if HWY_TARGET != HWY_SCALAR
  if (in.head_size % 16 == 0) return Scores(hn::CappedTag<float, 16>(), in, scores);
  if (in.head_size % 4 == 0) return Scores(hn::CappedTag<float, 4>(), in, scores);
#endif
  AnyScores(in, scores);
}

/// Columns of Σ weight · value, kVectors of them held in registers.
template <int kVectors, class D>
HWY_INLINE void WeightedSum(D d, const float* weights, const float* const* values, int64_t count,
                            int64_t first, float* out) {
  constexpr int64_t kLanes = hn::MaxLanes(d);
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  for (int64_t j = 0; j < count; ++j) {
    const auto w = hn::Set(d, weights[j]);
    const float* const value = values[j] + first;
    s0 = hn::MulAdd(w, hn::LoadU(d, value), s0);
    if constexpr (kVectors > 1) s1 = hn::MulAdd(w, hn::LoadU(d, value + kLanes), s1);
    if constexpr (kVectors > 2) {
      s2 = hn::MulAdd(w, hn::LoadU(d, value + 2 * kLanes), s2);
      s3 = hn::MulAdd(w, hn::LoadU(d, value + 3 * kLanes), s3);
    }
  }
  hn::StoreU(s0, d, out);
  if constexpr (kVectors > 1) hn::StoreU(s1, d, out + kLanes);
  if constexpr (kVectors > 2) {
    hn::StoreU(s2, d, out + 2 * kLanes);
    hn::StoreU(s3, d, out + 3 * kLanes);
  }
}

/// `support` and `values` have room for the longest row.
void Contexts(const RowAttention& in, const float* weights, float* support, const float** values,
              float* context) {
  const hn::CappedTag<float, 16> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  const int64_t pitch = in.pitch();
  for (int64_t r = 0; r < in.rows; ++r) {
    for (int64_t h = 0; h < in.heads; ++h) {
      // What the row attends to, without branches that nobody could predict.
      const float* const row = weights + (h * in.rows + r) * pitch;
      int64_t count = 0;
      for (int64_t j = 0; j < in.lengths[r]; ++j) {
        support[count] = row[j];
        values[count] = in.keys[r][j];
        count += row[j] != 0;
      }
      const int64_t first = in.value_offset + h * in.head_size;
      float* const out = context + (r * in.heads + h) * in.head_size;
      int64_t i = 0;
      for (; i + 4 * kLanes <= in.head_size; i += 4 * kLanes) {
        WeightedSum<4>(d, support, values, count, first + i, out + i);
      }
      for (; i + 2 * kLanes <= in.head_size; i += 2 * kLanes) {
        WeightedSum<2>(d, support, values, count, first + i, out + i);
      }
      for (; i + kLanes <= in.head_size; i += kLanes) {
        WeightedSum<1>(d, support, values, count, first + i, out + i);
      }
      for (; i < in.head_size; ++i) {
        out[i] = 0;
        for (int64_t j = 0; j < count; ++j) out[i] += support[j] * values[j][first + i];
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace filigree::translate
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace filigree::translate {
namespace {

/// Up to this length a row of α-entmax gives the same bits whatever the pitch; see
/// entmax_kernels::forward().
constexpr int64_t kLongestTogether = 256;

void to_weights(const RowAttention& in, float* scores) {
  const int64_t pitch = in.pitch();
  const double scale = 1 / std::sqrt(static_cast<double>(in.head_size));
  if (pitch <= kLongestTogether) {
    thread_local std::vector<int32_t> lengths;  // of all heads' rows
    thread_local std::vector<double> alpha;
    lengths.clear();
    alpha.clear();
    for (int64_t h = 0; h < in.heads; ++h) {
      lengths.insert(lengths.end(), in.lengths, in.lengths + in.rows);
      alpha.insert(alpha.end(), static_cast<size_t>(in.rows), in.alpha[h]);
    }
    return entmax_kernels::forward_by_row({in.heads * in.rows, pitch, pitch, lengths.data(), scale},
                                          scores, alpha.data(), scores);
  }
  for (int64_t h = 0; h < in.heads; ++h) {
    float* const block = scores + h * in.rows * pitch;
    for (int64_t r = 0; r < in.rows; ++r) {
      float* const row = block + r * pitch;
      entmax_kernels::forward({1, in.lengths[r], pitch, nullptr, scale}, row, in.alpha[h], row);
      std::fill(row + in.lengths[r], row + pitch, 0.0f);
    }
  }
}

}  // namespace

HWY_EXPORT(AllScores);
HWY_EXPORT(Contexts);

int64_t RowAttention::pitch() const {
  const int64_t longest = rows == 0 ? 0 : *std::max_element(lengths, lengths + rows);
  return (longest + 3) / 4 * 4;
}

void attend(const RowAttention& in, std::vector<float>& weights, float* context) {
  thread_local std::vector<float> support;
  thread_local std::vector<const float*> values;
  const auto pitch = static_cast<size_t>(in.pitch());
  const auto size = static_cast<size_t>(in.heads * in.rows) * pitch;
  if (weights.size() < size) weights.resize(size);
  if (support.size() < pitch) support.resize(pitch);
  if (values.size() < pitch) values.resize(pitch);
  HWY_DYNAMIC_DISPATCH(AllScores)(in, weights.data());
  to_weights(in, weights.data());
  HWY_DYNAMIC_DISPATCH(Contexts)(in, weights.data(), support.data(), values.data(), context);
}

}  // namespace filigree::translate
#endif  // HWY_ONCE
