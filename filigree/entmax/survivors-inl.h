// A score that lies 1/ε or more below its row's maximum has p = 0 exactly. What is left of a row
// without such scores, its survivors, is often short; Compact packs them and Expand puts the
// results back in their places.
#if defined(FILIGREE_ENTMAX_SURVIVORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_ENTMAX_SURVIVORS_INL_H_
#undef FILIGREE_ENTMAX_SURVIVORS_INL_H_
#else
#define FILIGREE_ENTMAX_SURVIVORS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "filigree/entmax/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::entmax_kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace simd = filigree::simd::HWY_NAMESPACE;

template <class T>
inline constexpr T kInfinity = std::numeric_limits<T>::infinity();

/// What is reported of a row beside p.
struct RowResult {
  double tau;
  int64_t support;
};

/// One bit per entry of a row, a vector's worth to a word.
using KeepBits = uint16_t;

template <class D>
HWY_INLINE KeepBits MaskBits(D d, hn::Mask<D> mask) {
  uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, mask, bytes);
  KeepBits bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  return bits;
}

template <class D>
HWY_INLINE size_t VectorsFor(D d, size_t n) {
  return (n + hn::Lanes(d) - 1) / hn::Lanes(d);
}

/// The maximum of a row, or NaN if it has a NaN; −inf when n = 0.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE T MaxOrNan(D d, const T* z, size_t n) {
  auto running = hn::Set(d, -kInfinity<T>);
  auto nan = simd::NoLanes(d);
  simd::ForEachVector(d, n, [&](size_t i, size_t count) HWY_ATTR {
    const auto v = simd::Load(d, z + i, count, -kInfinity<T>);
    running = hn::Max(running, v);
    nan = hn::Or(nan, hn::IsNaN(v));
  });
  if (!hn::AllFalse(d, nan)) return std::numeric_limits<T>::quiet_NaN();
  return hn::GetLane(hn::MaxOfLanes(d, running));
}

/// Writes p of a row whose maximum is not finite: a NaN makes the whole row NaN, a row that is
/// masked throughout is 0, and scores of +inf share the mass.
template <class T>
inline RowResult OddRow(const T* z, size_t n, T max, T* p) {
  if (max != max) {
    std::fill(p, p + n, max);
    return {max, static_cast<int64_t>(n)};
  }
  const auto count = max > 0 ? std::count(z, z + n, max) : 0;
  for (size_t i = 0; i < n; ++i) p[i] = count > 0 && z[i] == max ? T(1) / T(count) : T(0);
  return {kInfinity<double>, static_cast<int64_t>(count)};
}

/// Packs scale (z − max) of the survivors of a row with a finite maximum into `to`, in their order,
/// and notes where they were; returns their number. Writes up to a vector beyond them.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE size_t Compact(D d, const T* z, size_t n, T max, T scale, T epsilon, T* HWY_RESTRICT to,
                          KeepBits* HWY_RESTRICT keep) {
  const auto lowest = hn::Set(d, T(-1) / epsilon), shift = hn::Set(d, max);
  size_t count = 0;
  simd::ForEachVector(d, n, [&](size_t i, size_t lanes) HWY_ATTR {
    const auto shifted = hn::Sub(simd::Load(d, z + i, lanes, -kInfinity<T>), shift);
    const auto t = hn::Mul(shifted, hn::Set(d, scale));
    const auto mask = hn::Gt(t, lowest);
    *keep++ = MaskBits(d, mask);
    hn::StoreU(hn::Compress(t, mask), d, to + count);
    count += hn::CountTrue(d, mask);
  });
  return count;
}

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
/// The lanes whose bit is set, filled in order with `from`; 0 in the others.
HWY_INLINE hn::Vec<hn::ScalableTag<float>> Spread(hn::ScalableTag<float> d, unsigned bits,
                                                  const float* from) {
  using V = hn::Vec<hn::ScalableTag<float>>;
  return V{_mm512_maskz_expand_ps(static_cast<__mmask16>(bits), hn::LoadU(d, from).raw)};
}
#endif

template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> Spread(D d, unsigned bits, const T* from) {
  HWY_ALIGN T lanes[hn::MaxLanes(d)];
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    const bool set = bits >> i & 1;
    lanes[i] = set ? *from : T(0);
    from += set;
  }
  return hn::Load(d, lanes);
}

/// The reverse of Compact: entries of p in their places, 0 elsewhere. Reads up to a vector beyond
/// the survivors.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void Expand(D d, const T* HWY_RESTRICT from, const KeepBits* HWY_RESTRICT keep, size_t n,
                       T* HWY_RESTRICT p) {
  const unsigned all = (1u << hn::Lanes(d)) - 1;
  simd::ForEachVector(d, n, [&](size_t i, size_t lanes) HWY_ATTR {
    const unsigned bits = *keep++;
    if (bits == 0) {
      simd::Store(d, hn::Zero(d), p + i, lanes);
    } else if (bits == all) {
      simd::Store(d, hn::LoadU(d, from), p + i, lanes);
      from += lanes;
    } else {
      simd::Store(d, Spread(d, bits, from), p + i, lanes);
      from += hwy::PopCount(bits);
    }
  });
}

}  // namespace filigree::entmax_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
