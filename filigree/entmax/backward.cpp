// The gradients of a row need p alone. With ε = α − 1 and, on the support,
//
//   l = −log p,  s = p^{1−ε},  δ = Σ s dp / Σ s,  w = p l² φ(εl),  φ(x) = (eˣ − 1 − x) / x²
//
// they are dz = s (dp − δ) and dα = −Σ w (dp − δ). The second follows from log p =
// log(1 + ε (t − θ)) / ε: at fixed θ its derivative in ε is −l² φ(εl), and θ moves so that Σp
// stays 1. φ has a series at 0, so nothing cancels as α → 1. (It equals the quotient of differences
// in Proposition 1 of Correia, Niculae and Martins, 2019.)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filigree/entmax/backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "filigree/entmax/kernels.h"
#include "filigree/entmax/math-inl.h"
#include "filigree/entmax/scratch.h"
#include "filigree/entmax/survivors-inl.h"
#include "filigree/entmax/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::entmax::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace simd = filigree::simd::HWY_NAMESPACE;

/// Where φ(x) turns from its series to the closed form.
template <class T>
inline constexpr T kSeriesEnd = sizeof(T) == 4 ? T(0.5) : T(1);

/// φ(x) = Σ x^k / (k + 2)! for 0 ≤ x ≤ kSeriesEnd.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V PhiSeries(D d, V x) {
  using T = hn::TFromD<D>;
  V sum;
  if constexpr (simd::kIsFloat<D>) {  // interpolation at Chebyshev nodes, relative error 3e-8
    sum = hn::Set(d, 0.001664098248f);
    sum = hn::MulAdd(sum, x, hn::Set(d, 0.008209001061f));
    sum = hn::MulAdd(sum, x, hn::Set(d, 0.04168918919f));
    sum = hn::MulAdd(sum, x, hn::Set(d, 0.1666652499f));
    sum = hn::MulAdd(sum, x, hn::Set(d, 0.5000000142f));
  } else {
    T coefficient = T(1) / T(121645100408832000);  // 1 / 19!
    sum = hn::Set(d, coefficient);
    for (int k = 19; k > 2; --k) {
      coefficient *= T(k);
      sum = hn::MulAdd(sum, x, hn::Set(d, coefficient));
    }
  }
  return sum;
}

/// w from p, l = −log p and s = p^{1−ε}. The closed form (s − p (1 + εl)) / ε² cannot overflow as
/// e^{εl} would.
template <class D, class V = hn::Vec<D>, class T = hn::TFromD<D>>
HWY_INLINE V AlphaWeight(D d, T epsilon, V p, V l, V s) {
  const V x = hn::Mul(hn::Set(d, epsilon), l);
  const V near = hn::Mul(hn::Mul(p, hn::Mul(l, l)), PhiSeries(d, x));
  const V scale = hn::Set(d, T(1) / (epsilon * epsilon));
  const V far = hn::Mul(hn::Sub(hn::NegMulAdd(p, x, s), p), scale);
  return hn::IfThenElse(hn::Gt(x, hn::Set(d, kSeriesEnd<T>)), far, near);
}

// s and l of a vector of p for each kind of transform. s is 0 where p is; l is finite.

template <class T>
struct SoftmaxSlope {
  template <class D, class V>
  HWY_INLINE void operator()(D d, V p, V& s, V& l) const {
    s = p;
    l = hn::Mul(simd::Log2(d, p), hn::Set(d, T(-0.6931471805599453)));
  }
  /// φ(0) = ½.
  template <class D, class V>
  HWY_INLINE V Weight(D d, V p, V l, V) const {
    return hn::Mul(hn::Mul(p, hn::Set(d, T(0.5))), hn::Mul(l, l));
  }
};
template <class T>
struct SparsemaxSlope {
  template <class D, class V>
  HWY_INLINE void operator()(D d, V p, V& s, V& l) const {
    s = hn::IfThenElseZero(hn::Gt(p, hn::Zero(d)), hn::Set(d, T(1)));
    l = hn::Mul(simd::Log2(d, p), hn::Set(d, T(-0.6931471805599453)));
  }
  template <class D, class V>
  HWY_INLINE V Weight(D d, V p, V l, V s) const {
    return AlphaWeight(d, T(1), p, l, s);
  }
};
template <class T>
struct Entmax15Slope {
  template <class D, class V>
  HWY_INLINE void operator()(D d, V p, V& s, V& l) const {
    s = hn::Sqrt(p);
    l = hn::Mul(simd::Log2(d, p), hn::Set(d, T(-0.6931471805599453)));
  }
  template <class D, class V>
  HWY_INLINE V Weight(D d, V p, V l, V s) const {
    return AlphaWeight(d, T(0.5), p, l, s);
  }
};
template <class T>
struct AnySlope {
  T epsilon;
  template <class D, class V>
  HWY_INLINE void operator()(D d, V p, V& s, V& l) const {
    // p^{−ε} of a tiny p is cut for α > 2, so that sums stay finite.
    const V most = hn::Set(d, sizeof(T) == 4 ? T(126) : T(1000));
    const V log = simd::Log2(d, p);
    const V growth = simd::Exp2(d, hn::Min(hn::Mul(hn::Set(d, -epsilon), log), most));
    s = hn::Mul(p, growth);
    l = hn::Mul(log, hn::Set(d, T(-0.6931471805599453)));
  }
  template <class D, class V>
  HWY_INLINE V Weight(D d, V p, V l, V s) const {
    return AlphaWeight(d, epsilon, p, l, s);
  }
};

/// Packs p and dp of the support, and zeros behind them up to whole vectors; returns its size.
/// Sets has_nan if there is one in p.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE size_t PackSupport(D d, const T* p, const T* dp, size_t n, T* HWY_RESTRICT packed_p,
                              T* HWY_RESTRICT packed_dp, KeepBits* HWY_RESTRICT keep,
                              bool* has_nan) {
  const auto zero = hn::Zero(d);
  auto sum = zero;
  size_t count = 0;
  simd::ForEachVector(d, n, [&](size_t i, size_t lanes) HWY_ATTR {
    const auto v = simd::Load(d, p + i, lanes, T(0));
    sum = hn::Add(sum, v);
    const auto support = hn::Gt(v, zero);
    *keep = MaskBits(d, support);
    if (*keep++ == 0) return;
    hn::StoreU(hn::Compress(v, support), d, packed_p + count);
    hn::StoreU(hn::Compress(simd::Load(d, dp + i, lanes, T(0)), support), d, packed_dp + count);
    count += hn::CountTrue(d, support);
  });
  hn::StoreU(zero, d, packed_p + count);
  hn::StoreU(zero, d, packed_dp + count);
  *has_nan = !hn::AllFalse(d, hn::IsNaN(sum));
  return count;
}

/// Room for rows of n in every array of this file.
template <class D>
HWY_INLINE size_t BackwardRoom(D d, size_t n) {
  return n + 2 * hn::Lanes(d);
}

template <class T>
struct BackwardScratch {
  explicit BackwardScratch(size_t room, size_t vectors)
      : p(room), dp(room), weights(room), keep(vectors) {}
  Scratch<T> p, dp, weights;
  Scratch<KeepBits> keep;
};

/// Returns Σ dp ∂p/∂α when asked for. dz is multiplied by `scale`.
template <bool kWithAlpha, class Slope, class D, class T = hn::TFromD<D>>
HWY_INLINE double BackwardRow(D d, const Slope& slope, T scale, const T* p, const T* dp, size_t n,
                              T* dz, BackwardScratch<T>& scratch) {
  T* HWY_RESTRICT const packed_p = scratch.p.data();
  T* HWY_RESTRICT const packed_dp = scratch.dp.data();
  T* HWY_RESTRICT const weights = scratch.weights.data();
  const size_t lanes = hn::Lanes(d);
  bool has_nan;
  // Off the support dp may be anything: it is not looked at.
  const size_t count = PackSupport(d, p, dp, n, packed_p, packed_dp, scratch.keep.data(), &has_nan);
  if (has_nan) {
    std::fill(dz, dz + n, std::numeric_limits<T>::quiet_NaN());
    return std::numeric_limits<double>::quiet_NaN();
  }

  auto total = hn::Zero(d), product = total;
  for (size_t i = 0; i < count; i += lanes) {
    const auto v = hn::Load(d, packed_p + i);
    hn::Vec<D> s, l;
    slope(d, v, s, l);
    total = hn::Add(total, s);
    product = hn::MulAdd(s, hn::Load(d, packed_dp + i), product);
    if constexpr (kWithAlpha) hn::Store(slope.Weight(d, v, l, s), d, weights + i);
    hn::Store(s, d, packed_p + i);
  }
  const T whole = simd::Sum(d, total);
  const auto mean = hn::Set(d, whole > 0 ? simd::Sum(d, product) / whole : T(0));
  auto dalpha = hn::Zero(d);
  for (size_t i = 0; i < count; i += lanes) {
    const auto centred = hn::Sub(hn::Load(d, packed_dp + i), mean);
    const auto scaled = hn::Mul(hn::Load(d, packed_p + i), hn::Set(d, scale));
    if constexpr (kWithAlpha) dalpha = hn::NegMulAdd(hn::Load(d, weights + i), centred, dalpha);
    hn::Store(hn::Mul(scaled, centred), d, packed_dp + i);
  }
  Expand(d, packed_dp, scratch.keep.data(), n, dz);
  return kWithAlpha ? double(simd::Sum(d, dalpha)) : 0;
}

template <class Slope, class T>
void BackwardRows(const Slope& slope, Rows shape, const T* p, const T* dp, T* dz, double* dalpha) {
  const hn::ScalableTag<T> d;
  const size_t size = static_cast<size_t>(shape.size);
  BackwardScratch<T> scratch(BackwardRoom(d, size), VectorsFor(d, size));
  const T scale = static_cast<T>(shape.scale);
  for (int64_t r = 0; r < shape.rows; ++r) {
    const size_t n = static_cast<size_t>(shape.lengths ? shape.lengths[r] : shape.size);
    const int64_t at = r * shape.stride;
    if (dalpha) {
      dalpha[r] = BackwardRow<true>(d, slope, scale, p + at, dp + at, n, dz + at, scratch);
    } else {
      BackwardRow<false>(d, slope, scale, p + at, dp + at, n, dz + at, scratch);
    }
    simd::FillZero(dz + at + n, dz + at + shape.size);
  }
}

template <class T>
void Backward(Rows shape, const T* p, const T* dp, double alpha, T* dz, double* dalpha) {
  if (alpha == 1) {
    BackwardRows(SoftmaxSlope<T>(), shape, p, dp, dz, dalpha);
  } else if (alpha == 1.5) {
    BackwardRows(Entmax15Slope<T>(), shape, p, dp, dz, dalpha);
  } else if (alpha == 2) {
    BackwardRows(SparsemaxSlope<T>(), shape, p, dp, dz, dalpha);
  } else {
    BackwardRows(AnySlope<T>{static_cast<T>(alpha - 1)}, shape, p, dp, dz, dalpha);
  }
}

void BackwardFloat(Rows shape, const float* p, const float* dp, double alpha, float* dz,
                   double* dalpha) {
  Backward(shape, p, dp, alpha, dz, dalpha);
}

void BackwardDouble(Rows shape, const double* p, const double* dp, double alpha, double* dz,
                    double* dalpha) {
  Backward(shape, p, dp, alpha, dz, dalpha);
}

}  // namespace filigree::entmax::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace filigree::entmax {

HWY_EXPORT(BackwardFloat);
HWY_EXPORT(BackwardDouble);

void backward(Rows shape, const float* p, const float* dp, double alpha, float* dz,
              double* dalpha) {
  HWY_DYNAMIC_DISPATCH(BackwardFloat)(shape, p, dp, alpha, dz, dalpha);
}

void backward(Rows shape, const double* p, const double* dp, double alpha, double* dz,
              double* dalpha) {
  HWY_DYNAMIC_DISPATCH(BackwardDouble)(shape, p, dp, alpha, dz, dalpha);
}

}  // namespace filigree::entmax
#endif
