#include "filigree/entmax/dropout.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filigree/entmax/dropout.cpp"
// The order of these matters.
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace filigree::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D32>
hn::Vec<D32> Bits(D32 d, hn::Vec<D32> index, uint64_t key) {
  auto x = hn::Add(index, hn::Set(d, static_cast<uint32_t>(key)));
  x = hn::Xor(x, hn::ShiftRight<16>(x));
  x = hn::Mul(x, hn::Set(d, kDropoutMultiplier1));
  x = hn::Xor(x, hn::ShiftRight<15>(x));
  x = hn::Add(x, hn::Set(d, static_cast<uint32_t>(key >> 32)));
  x = hn::Mul(x, hn::Set(d, kDropoutMultiplier2));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

void DropoutAdd(const float* x, const float* residual, float* out, int64_t size, double p,
                uint64_t key, uint64_t first) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto scale = hn::Set(d, static_cast<float>(1 / (1 - p)));
  const auto threshold = hn::Set(du, dropout_threshold(p));
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto kept = [&](int64_t i, hn::Vec<decltype(d)> v) {
    const auto bits =
        Bits(du, hn::Iota(du, static_cast<uint32_t>(first) + static_cast<uint32_t>(i)), key);
    return hn::IfThenElseZero(hn::RebindMask(d, hn::Lt(bits, threshold)), hn::Mul(v, scale));
  };
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    auto y = kept(i, hn::LoadU(d, x + i));
    if (residual) y = hn::Add(y, hn::LoadU(d, residual + i));
    hn::StoreU(y, d, out + i);
  }
  if (i < size) {
    HWY_ALIGN float tail[hn::MaxLanes(d)] = {};
    for (int64_t j = i; j < size; ++j) tail[j - i] = x[j];
    hn::Store(kept(i, hn::Load(d, tail)), d, tail);
    for (int64_t j = i; j < size; ++j) out[j] = tail[j - i] + (residual ? residual[j] : 0.0f);
  }
}

void DropoutFactors(const int32_t* index, int64_t size, double p, uint64_t key, uint64_t first,
                    float* factors) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto scale = hn::Set(d, static_cast<float>(1 / (1 - p)));
  const auto threshold = hn::Set(du, dropout_threshold(p));
  const auto base = hn::Set(du, static_cast<uint32_t>(first));
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto factors_of = [&](const int32_t* from, float* to) HWY_ATTR {
    const auto at = hn::Add(hn::BitCast(du, hn::LoadU(di, from)), base);
    const auto kept = hn::RebindMask(d, hn::Lt(Bits(du, at, key), threshold));
    hn::StoreU(hn::IfThenElseZero(kept, scale), d, to);
  };
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) factors_of(index + i, factors + i);
  if (i < size) {
    int32_t last[hn::MaxLanes(d)] = {};
    float tail[hn::MaxLanes(d)];
    std::copy(index + i, index + size, last);
    factors_of(last, tail);
    std::copy(tail, tail + (size - i), factors + i);
  }
}

}  // namespace filigree::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace filigree {
HWY_EXPORT(DropoutAdd);
HWY_EXPORT(DropoutFactors);

uint32_t dropout_threshold(double p) {
  return static_cast<uint32_t>(std::llround((1 - p) * 4294967295.0));
}

uint32_t dropout_bits(uint64_t key, uint64_t index) {
  uint32_t x = static_cast<uint32_t>(index) + static_cast<uint32_t>(key);
  x = (x ^ (x >> 16)) * kDropoutMultiplier1;
  x = ((x ^ (x >> 15)) + static_cast<uint32_t>(key >> 32)) * kDropoutMultiplier2;
  return x ^ (x >> 16);
}

void dropout_add(const float* x, const float* residual, float* out, int64_t size, double p,
                 uint64_t key, uint64_t first) {
  HWY_DYNAMIC_DISPATCH(DropoutAdd)(x, residual, out, size, p, key, first);
}

void dropout_add(const double* x, const double* residual, double* out, int64_t size, double p,
                 uint64_t key, uint64_t first) {
  const uint32_t threshold = dropout_threshold(p);
  for (int64_t i = 0; i < size; ++i) {
    const double kept =
        dropout_bits(key, first + static_cast<uint64_t>(i)) < threshold ? x[i] / (1 - p) : 0;
    out[i] = (residual ? residual[i] : 0) + kept;
  }
}

void dropout_factors(const int32_t* index, int64_t size, double p, uint64_t key, uint64_t first,
                     float* factors) {
  HWY_DYNAMIC_DISPATCH(DropoutFactors)(index, size, p, key, first, factors);
}

void dropout_factors(const int32_t* index, int64_t size, double p, uint64_t key, uint64_t first,
                     double* factors) {
  const uint32_t threshold = dropout_threshold(p);
  for (int64_t i = 0; i < size; ++i) {
    const uint64_t at = first + static_cast<uint64_t>(index[i]);
    factors[i] = dropout_bits(key, at) < threshold ? 1 / (1 - p) : 0;
  }
}

}  // namespace filigree
#endif
