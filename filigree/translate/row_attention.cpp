#include "filigree/translate/row_attention.h"

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
using Floats = hn::ScalableTag<float>;

float dot(const float* a, const float* b, int64_t size) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    sum = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum);
  }
  float total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < size; ++i) total += a[i] * b[i];
  return total;
}

/// scores[h, r, j] = scale · ⟨query of row r, its j-th key⟩ within head h.
void scores(const RowAttention& in, float scale, float* scores) {
  for (int64_t r = 0; r < in.rows; ++r) {
    const float* const query = in.query + r * in.query_stride;
    for (int64_t j = 0; j < in.lengths[r]; ++j) {
      const float* const key = in.keys[r][j];
      for (int64_t h = 0; h < in.heads; ++h) {
        scores[(h * in.rows + r) * in.longest + j] =
            scale * dot(query + h * in.head_size, key + h * in.head_size, in.head_size);
      }
    }
  }
}

/// Columns first … first + kVectors · lanes − 1 of Σ_j weights[j] · value[j], held in registers.
template <int kVectors>
void weighted_sum(const float* weights, int64_t length, const float* const* keys, int64_t first,
                  float* out) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  for (int64_t j = 0; j < length; ++j) {
    if (weights[j] == 0) continue;
    const auto w = hn::Set(d, weights[j]);
    const float* const value = keys[j] + first;
    s0 = hn::MulAdd(w, hn::LoadU(d, value), s0);
    if constexpr (kVectors > 1) s1 = hn::MulAdd(w, hn::LoadU(d, value + lanes), s1);
    if constexpr (kVectors > 2) {
      s2 = hn::MulAdd(w, hn::LoadU(d, value + 2 * lanes), s2);
      s3 = hn::MulAdd(w, hn::LoadU(d, value + 3 * lanes), s3);
    }
  }
  hn::StoreU(s0, d, out);
  if constexpr (kVectors > 1) hn::StoreU(s1, d, out + lanes);
  if constexpr (kVectors > 2) {
    hn::StoreU(s2, d, out + 2 * lanes);
    hn::StoreU(s3, d, out + 3 * lanes);
  }
}

void contexts(const RowAttention& in, const float* weights, float* context) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t h = 0; h < in.heads; ++h) {
    for (int64_t r = 0; r < in.rows; ++r) {
      const float* const w = weights + (h * in.rows + r) * in.longest;
      const int64_t begin = h * in.head_size, value = in.value_offset + begin;
      float* const out = context + r * in.heads * in.head_size + begin;
      int64_t i = 0;
      for (; i + 4 * lanes <= in.head_size; i += 4 * lanes) {
        weighted_sum<4>(w, in.lengths[r], in.keys[r], value + i, out + i);
      }
      for (; i + 2 * lanes <= in.head_size; i += 2 * lanes) {
        weighted_sum<2>(w, in.lengths[r], in.keys[r], value + i, out + i);
      }
      for (; i + lanes <= in.head_size; i += lanes) {
        weighted_sum<1>(w, in.lengths[r], in.keys[r], value + i, out + i);
      }
      for (; i < in.head_size; ++i) {
        out[i] = 0;
        for (int64_t j = 0; j < in.lengths[r]; ++j) {
          if (w[j] != 0) out[i] += w[j] * in.keys[r][j][value + i];
        }
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace filigree::translate
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace filigree::translate {

HWY_EXPORT(scores);
HWY_EXPORT(contexts);

void attend(const RowAttention& in, float* weights, float* context) {
  const float scale = 1 / std::sqrt(static_cast<float>(in.head_size));
  HWY_DYNAMIC_DISPATCH(scores)(in, scale, weights);
  for (int64_t h = 0; h < in.heads; ++h) {
    float* const block = weights + h * in.rows * in.longest;
    entmax_kernels::forward({in.rows, in.longest, in.longest, in.lengths}, block, in.alpha[h],
                            block);
  }
  HWY_DYNAMIC_DISPATCH(contexts)(in, weights, context);
}

}  // namespace filigree::translate
#endif  // HWY_ONCE
