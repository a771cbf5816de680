// The gradients of a row need p alone. With ε = α − 1 and, on the support,
//
//   l = −log p,  s = p^{1−ε},  δ = Σ s dp / Σ s,  w = p l² φ(εl),  φ(x) = (eˣ − 1 − x) / x²
//
// they are dz = s (dp − δ) and dα = −Σ w (dp − δ). The second follows from log p =
// log(1 + ε (t − θ)) / ε: at fixed θ its derivative in ε is −l² φ(εl), and θ moves so that Σp
// stays 1. φ has a series at 0, so nothing cancels as α → 1. (It equals the quotient of differences
// in Proposition 1 of Correia, Niculae and Martins, 2019.)
#if defined(FILIGREE_ENTMAX_BACKWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_ENTMAX_BACKWARD_INL_H_
#undef FILIGREE_ENTMAX_BACKWARD_INL_H_
#else
#define FILIGREE_ENTMAX_BACKWARD_INL_H_
#endif

#include <hwy/highway.h>

#include <limits>

#include "filigree/entmax/math-inl.h"
#include "filigree/entmax/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::entmax_kernels::HWY_NAMESPACE {
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

/// −log p from log₂ p.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V MinusLog(D d, V log2) {
  return hn::Mul(log2, hn::Set(d, hn::TFromD<D>(-0.6931471805599453)));
}

// s and l of a vector of p for each kind of transform. s is 0 where p is; l is finite.

template <class T>
struct SoftmaxSlope {
  static constexpr bool kSteep = false;
  template <class D, class V>
  HWY_INLINE void operator()(D d, V p, V& s, V& l) const {
    s = p;
    l = MinusLog(d, simd::Log2(d, p));
  }
  /// φ(0) = ½.
  template <class D, class V>
  HWY_INLINE V Weight(D d, V p, V l, V) const {
    return hn::Mul(hn::Mul(p, hn::Set(d, T(0.5))), hn::Mul(l, l));
  }
};
template <class T>
struct SparsemaxSlope {
  static constexpr bool kSteep = false;
  template <class D, class V>
  HWY_INLINE void operator()(D d, V p, V& s, V& l) const {
    s = hn::IfThenElseZero(hn::Gt(p, hn::Zero(d)), hn::Set(d, T(1)));
    l = MinusLog(d, simd::Log2(d, p));
  }
  template <class D, class V>
  HWY_INLINE V Weight(D d, V p, V l, V s) const {
    return AlphaWeight(d, T(1), p, l, s);
  }
};
template <class T>
struct Entmax15Slope {
  static constexpr bool kSteep = false;
  template <class D, class V>
  HWY_INLINE void operator()(D d, V p, V& s, V& l) const {
    s = hn::Sqrt(p);
    l = MinusLog(d, simd::Log2(d, p));
  }
  template <class D, class V>
  HWY_INLINE V Weight(D d, V p, V l, V s) const {
    return AlphaWeight(d, T(0.5), p, l, s);
  }
};
template <class T>
struct AnySlope {
  static constexpr bool kSteep = false;
  T epsilon;
  template <class D, class V>
  HWY_INLINE void operator()(D d, V p, V& s, V& l) const {
    // p^{−ε} of a tiny p is cut for α > 2, so that sums stay finite.
    const V most = hn::Set(d, sizeof(T) == 4 ? T(100) : T(900));
    const V log = simd::Log2(d, p);
    const V growth = simd::Exp2(d, hn::Min(hn::Mul(hn::Set(d, -epsilon), log), most));
    s = hn::Mul(p, growth);
    l = MinusLog(d, log);
  }
  template <class D, class V>
  HWY_INLINE V Weight(D d, V p, V l, V s) const {
    return AlphaWeight(d, epsilon, p, l, s);
  }
};

/// α > 2: s may grow without bounds as p goes to 0.
template <class T>
struct SteepSlope : AnySlope<T> {
  static constexpr bool kSteep = true;
  /// w less s / ε², which adds nothing to dα, as Σ s (dp − δ) = 0.
  template <class D, class V>
  HWY_INLINE V Weight(D d, V p, V l, V) const {
    const T epsilon = this->epsilon;
    const V x = hn::Mul(hn::Set(d, epsilon), l);
    return hn::Mul(hn::NegMulSub(p, x, p), hn::Set(d, T(1) / (epsilon * epsilon)));
  }
};

/// dp of the smallest p of the support; 0 if that is empty.
template <class T>
T CotangentOfSmallest(const T* p, const T* dp, size_t n) {
  size_t smallest = n;
  for (size_t i = 0; i < n; ++i) {
    if (p[i] > 0 && (smallest == n || p[i] < p[smallest])) smallest = i;
  }
  return smallest < n ? dp[smallest] : T(0);
}

/// Returns Σ dp ∂p/∂α when asked for; dz is multiplied by `scale`. The scratch arrays have room for
/// n entries and a vector.
template <bool kWithAlpha, class Slope, class D, class T = hn::TFromD<D>>
HWY_INLINE double BackwardRow(D d, const Slope& slope, T scale, const T* p, const T* dp, size_t n,
                              T* dz, T* HWY_RESTRICT slopes, T* HWY_RESTRICT cotangents,
                              T* HWY_RESTRICT weights) {
  const auto zero = hn::Zero(d);
  // A constant added to dp changes no gradient. Where the smallest p has nearly all of Σ s, δ is
  // close to its dp, and their difference would have few digits left.
  const auto shift = hn::Set(d, Slope::kSteep ? CotangentOfSmallest(p, dp, n) : T(0));
  auto total = zero, product = zero, sum = zero;
  simd::ForEachVector(d, n, [&](size_t i, size_t count) HWY_ATTR {
    const auto v = simd::Load(d, p + i, count, T(0));
    const auto support = hn::Gt(v, zero);
    sum = hn::Add(sum, v);
    auto s = zero, g = zero, w = zero;
    if (!hn::AllFalse(d, support)) {
      hn::Vec<D> l;
      slope(d, v, s, l);
      total = hn::Add(total, s);
      // dp is not looked at off the support: it may be anything there.
      g = hn::IfThenElseZero(support, simd::Load(d, dp + i, count, T(0)));
      if constexpr (Slope::kSteep) g = hn::IfThenElseZero(support, hn::Sub(g, shift));
      product = hn::MulAdd(s, g, product);
      if constexpr (kWithAlpha) w = slope.Weight(d, v, l, s);
    }
    hn::StoreU(s, d, slopes + i);
    hn::StoreU(g, d, cotangents + i);
    if constexpr (kWithAlpha) hn::StoreU(w, d, weights + i);
  });

  const T whole = simd::Sum(d, total);
  const bool has_nan = !hn::AllFalse(d, hn::IsNaN(sum));
  const T mean = has_nan     ? std::numeric_limits<T>::quiet_NaN()
                 : whole > 0 ? simd::Sum(d, product) / whole
                             : T(0);
  auto dalpha = zero;
  simd::ForEachVector(d, n, [&](size_t i, size_t count) HWY_ATTR {
    const auto s = hn::Mul(hn::LoadU(d, slopes + i), hn::Set(d, scale));
    const auto centred = hn::Sub(hn::LoadU(d, cotangents + i), hn::Set(d, mean));
    simd::Store(d, hn::Mul(s, centred), dz + i, count);
    if constexpr (kWithAlpha) dalpha = hn::NegMulAdd(hn::LoadU(d, weights + i), centred, dalpha);
  });
  return kWithAlpha ? double(simd::Sum(d, dalpha)) : 0;
}

/// Calls work(slope) with the slope of α.
template <class T, class Work>
HWY_INLINE void WithSlope(double alpha, Work&& work) {
  if (alpha == 1) {
    work(SoftmaxSlope<T>());
  } else if (alpha == 1.5) {
    work(Entmax15Slope<T>());
  } else if (alpha == 2) {
    work(SparsemaxSlope<T>());
  } else if (alpha < 2) {
    work(AnySlope<T>{static_cast<T>(alpha - 1)});
  } else {
    work(SteepSlope<T>{{static_cast<T>(alpha - 1)}});
  }
}

}  // namespace filigree::entmax_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
