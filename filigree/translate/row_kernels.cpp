#include "filigree/translate/row_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filigree/translate/row_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "filigree/entmax/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::translate {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;

constexpr double kLayerNormEpsilon = 1e-6;

void EmbedRow(const float* embedding, float scale, const float* position, int64_t width,
              float* out) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    const auto value = hn::Mul(hn::Set(d, scale), hn::LoadU(d, embedding + i));
    hn::StoreU(hn::Add(value, hn::LoadU(d, position + i)), d, out + i);
  }
  for (; i < width; ++i) out[i] = scale * embedding[i] + position[i];
}

void LayerNorm(const float* x, int64_t rows, int64_t width, const float* weight, const float* bias,
               float* y) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < rows; ++r, x += width, y += width) {
    auto sums = hn::Zero(d);
    int64_t i = 0;
    for (; i + lanes <= width; i += lanes) sums = hn::Add(sums, hn::LoadU(d, x + i));
    float total = hn::GetLane(hn::SumOfLanes(d, sums));
    for (; i < width; ++i) total += x[i];
    const float mean = total / static_cast<float>(width);

    auto squares = hn::Zero(d);
    for (i = 0; i + lanes <= width; i += lanes) {
      const auto distance = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
      squares = hn::MulAdd(distance, distance, squares);
    }
    float square = hn::GetLane(hn::SumOfLanes(d, squares));
    for (; i < width; ++i) square += (x[i] - mean) * (x[i] - mean);
    const auto scale =
        static_cast<float>(1 / std::sqrt(static_cast<double>(square) / static_cast<double>(width) +
                                         kLayerNormEpsilon));

    for (i = 0; i + lanes <= width; i += lanes) {
      const auto normal =
          hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean)), hn::Set(d, scale));
      hn::StoreU(hn::MulAdd(normal, hn::LoadU(d, weight + i), hn::LoadU(d, bias + i)), d, y + i);
    }
    for (; i < width; ++i) y[i] = (x[i] - mean) * scale * weight[i] + bias[i];
  }
}

float Maximum(const float* values, int64_t size) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  float maximum = values[0];
  int64_t i = 0;
  if (size >= lanes) {
    auto most = hn::LoadU(d, values);
    for (i = lanes; i + lanes <= size; i += lanes) most = hn::Max(most, hn::LoadU(d, values + i));
    maximum = hn::GetLane(hn::MaxOfLanes(d, most));
  }
  for (; i < size; ++i) maximum = values[i] > maximum ? values[i] : maximum;
  return maximum;
}

/// Σ exp(z − max); NaN when a z is.
double SumOfExps(const float* values, int64_t size, float max) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sums = hn::Zero(d), plain = sums;
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto value = hn::LoadU(d, values + i);
    plain = hn::Add(plain, value);  // Exp() and Max() lose a NaN
    sums = hn::Add(sums, simd::HWY_NAMESPACE::Exp(d, hn::Sub(value, hn::Set(d, max))));
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, sums));
  float check = hn::GetLane(hn::SumOfLanes(d, plain));
  for (; i < size; ++i) {
    check += values[i];
    sum += std::exp(values[i] - max);
  }
  return std::isnan(check) ? std::numeric_limits<double>::quiet_NaN() : sum;
}

void LogAdd(const float* values, float shift, int64_t size, float* sums) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto a = hn::LoadU(d, sums + i);
    const auto b = hn::Sub(hn::LoadU(d, values + i), hn::Set(d, shift));
    const auto more = hn::Max(a, b);
    // Exp() is 0 for −∞, and for the NaN of two −∞.
    const auto ratio = simd::HWY_NAMESPACE::Exp(d, hn::Sub(hn::Min(a, b), more));
    hn::StoreU(hn::Add(more, simd::HWY_NAMESPACE::Log1p(d, ratio)), d, sums + i);
  }
  for (; i < size; ++i) {
    const float a = sums[i], b = values[i] - shift, more = std::max(a, b);
    sums[i] = std::isinf(more) ? more : more + std::log1p(std::exp(std::min(a, b) - more));
  }
}

void AddTo(LogSumExp& all, const float* values, int64_t size, int64_t block, float* block_maxima) {
  float most = all.max;
  for (int64_t begin = 0; begin < size; begin += block) {
    *block_maxima = Maximum(values + begin, HWY_MIN(block, size - begin));
    most = std::max(most, *block_maxima++);
  }
  // Of nothing but −∞ there is no distance to the maximum.
  const float shift = std::isinf(most) ? 0 : most;
  if (all.sum > 0) all.sum *= std::exp(static_cast<double>(all.max) - shift);
  all.sum += SumOfExps(values, size, shift);
  all.max = most;
}

}  // namespace HWY_NAMESPACE
}  // namespace filigree::translate
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace filigree::translate {

HWY_EXPORT(EmbedRow);
HWY_EXPORT(LayerNorm);
HWY_EXPORT(AddTo);
HWY_EXPORT(LogAdd);

void embed_row(const float* embedding, float scale, const float* position, int64_t width,
               float* out) {
  HWY_DYNAMIC_DISPATCH(EmbedRow)(embedding, scale, position, width, out);
}

void layer_norm(const float* x, int64_t rows, int64_t width, const float* weight, const float* bias,
                float* y) {
  HWY_DYNAMIC_DISPATCH(LayerNorm)(x, rows, width, weight, bias, y);
}

void log_add(const float* values, float shift, int64_t size, float* sums) {
  HWY_DYNAMIC_DISPATCH(LogAdd)(values, shift, size, sums);
}

LogSumExp::LogSumExp() : max(-std::numeric_limits<float>::infinity()) {}

void LogSumExp::add(const float* values, int64_t size, int64_t block, float* block_maxima) {
  HWY_DYNAMIC_DISPATCH(AddTo)(*this, values, size, block, block_maxima);
}

double LogSumExp::value() const { return (std::isinf(max) ? 0 : max) + std::log(sum); }

}  // namespace filigree::translate
#endif  // HWY_ONCE
