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

#include <limits>

#include "filigree/entmax/kernels.h"
#include "filigree/entmax/math-inl.h"
#include "filigree/entmax/scratch.h"
#include "filigree/entmax/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::entmax::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace simd = filigree::simd::HWY_NAMESPACE;

/// φ(x) = Σ x^k / (k + 2)! for 0 ≤ x ≤ 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V PhiSeries(D d, V x) {
  using T = hn::TFromD<D>;
  V sum;
  if constexpr (simd::kIsFloat<D>) {  // interpolation at Chebyshev nodes, relative error 6e-8
    sum = hn::Set(d, 0.000290977448f);
    sum = hn::MulAdd(sum, x, hn::Set(d, 0.001277645468f));
    sum = hn::MulAdd(sum, x, hn::Set(d, 0.008392812684f));
    sum = hn::MulAdd(sum, x, hn::Set(d, 0.041652500629f));
    sum = hn::MulAdd(sum, x, hn::Set(d, 0.166667893529f));
    sum = hn::MulAdd(sum, x, hn::Set(d, 0.49999997f));
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

/// The exponents above which s = p^{1−ε} of a tiny p is cut for α > 2, so that sums stay finite.
template <class T>
inline constexpr T kMostLog = sizeof(T) == 4 ? T(60) : T(600);

/// s where α allows a short cut, in a form that vectors of other transforms share.
struct SoftmaxSlope {
  template <class D, class V>
  HWY_INLINE V operator()(D, V p) const {
    return p;
  }
};
struct SparsemaxSlope {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V) const {
    return hn::Set(d, hn::TFromD<D>(1));
  }
};
struct Entmax15Slope {
  template <class D, class V>
  HWY_INLINE V operator()(D, V p) const {
    return hn::Sqrt(p);
  }
};
template <class T>
struct AnySlope {
  T exponent;  // 1 − ε
  template <class D, class V>
  HWY_INLINE V operator()(D d, V p) const {
    const V y = hn::Mul(hn::Set(d, exponent), simd::Log(d, p));
    return simd::Exp(d, hn::Min(y, hn::Set(d, kMostLog<T>)));
  }
};

/// w from p, l and s. Above x = 1 it is (s − p (1 + x)) / ε², which cannot overflow as eˣ would.
template <class D, class V = hn::Vec<D>, class T = hn::TFromD<D>>
HWY_INLINE V AlphaWeight(D d, T epsilon, V p, V l, V s) {
  const V one = hn::Set(d, T(1));
  const V x = hn::Mul(hn::Set(d, epsilon), l);
  const V near = hn::Mul(hn::Mul(p, hn::Mul(l, l)), PhiSeries(d, x));
  const auto is_far = hn::Gt(x, one);
  if (hn::AllFalse(d, is_far)) return near;
  const V scale = hn::Set(d, T(1) / (epsilon * epsilon));
  const V far = hn::Mul(hn::NegMulAdd(p, hn::Add(x, one), s), scale);
  return hn::IfThenElse(is_far, far, near);
}

/// Returns Σ dp ∂p/∂α when asked for. `slopes` and `weights` are scratch for n entries.
template <bool kWithAlpha, class Slope, class D, class T = hn::TFromD<D>>
HWY_INLINE double BackwardRow(D d, const Slope& slope, T epsilon, const T* p, const T* dp, size_t n,
                              T* dz, T* HWY_RESTRICT slopes, T* HWY_RESTRICT weights) {
  const auto zero = hn::Zero(d);
  auto total = zero, product = zero;
  auto nan = simd::NoLanes(d);
  simd::ForEachVector(d, n, [&](size_t i, size_t count) HWY_ATTR {
    const auto v = simd::Load(d, p + i, count, T(0));
    const auto support = hn::Gt(v, zero);
    nan = hn::Or(nan, hn::IsNaN(v));
    auto s = zero, w = zero;
    if (!hn::AllFalse(d, support)) {
      // In float a subnormal p counts as the smallest normal number, which log and exp can handle.
      const auto safe = hn::IfThenElse(
          support, hn::Max(v, hn::Set(d, std::numeric_limits<T>::min())), hn::Set(d, T(1)));
      s = hn::IfThenElseZero(support, slope(d, safe));
      total = hn::Add(total, s);
      // dp is not looked at off the support: it may be anything there.
      const auto g = hn::IfThenElseZero(support, simd::Load(d, dp + i, count, T(0)));
      product = hn::MulAdd(s, g, product);
      if constexpr (kWithAlpha) {
        const auto weight = AlphaWeight(d, epsilon, safe, hn::Neg(simd::Log(d, safe)), s);
        w = hn::IfThenElseZero(support, weight);
      }
    }
    hn::StoreU(s, d, slopes + i);
    if constexpr (kWithAlpha) hn::StoreU(w, d, weights + i);
  });

  const T sum = simd::Sum(d, total);
  T mean = sum > 0 ? simd::Sum(d, product) / sum : T(0);
  if (!hn::AllFalse(d, nan)) mean = std::numeric_limits<T>::quiet_NaN();
  const bool poisoned = mean != mean;
  auto dalpha = zero;
  simd::ForEachVector(d, n, [&](size_t i, size_t count) HWY_ATTR {
    const auto s = hn::LoadU(d, slopes + i);
    const auto centred = hn::Sub(simd::Load(d, dp + i, count, T(0)), hn::Set(d, mean));
    const auto on = hn::IfThenElseZero(hn::Gt(s, zero), centred);
    simd::Store(d, poisoned ? hn::NaN(d) : hn::Mul(s, on), dz + i, count);
    if constexpr (kWithAlpha) dalpha = hn::NegMulAdd(hn::LoadU(d, weights + i), on, dalpha);
  });
  return kWithAlpha ? (poisoned ? double(mean) : double(simd::Sum(d, dalpha))) : 0;
}

template <class Slope, class T>
void BackwardRows(const Slope& slope, double alpha, Rows shape, const T* p, const T* dp, T* dz,
                  double* dalpha) {
  const hn::ScalableTag<T> d;
  const size_t room = static_cast<size_t>(shape.size) + hn::Lanes(d);
  Scratch<T> slopes(room), weights(dalpha ? room : 0);
  const T epsilon = static_cast<T>(alpha - 1);
  for (int64_t r = 0; r < shape.rows; ++r) {
    const size_t n = static_cast<size_t>(shape.lengths ? shape.lengths[r] : shape.size);
    const int64_t at = r * shape.stride;
    if (dalpha) {
      dalpha[r] = BackwardRow<true>(d, slope, epsilon, p + at, dp + at, n, dz + at, slopes.data(),
                                    weights.data());
    } else {
      BackwardRow<false>(d, slope, epsilon, p + at, dp + at, n, dz + at, slopes.data(),
                         weights.data());
    }
    simd::FillZero(dz + at + n, dz + at + shape.size);
  }
}

template <class T>
void Backward(Rows shape, const T* p, const T* dp, double alpha, T* dz, double* dalpha) {
  if (alpha == 1) {
    BackwardRows(SoftmaxSlope(), alpha, shape, p, dp, dz, dalpha);
  } else if (alpha == 1.5) {
    BackwardRows(Entmax15Slope(), alpha, shape, p, dp, dz, dalpha);
  } else if (alpha == 2) {
    BackwardRows(SparsemaxSlope(), alpha, shape, p, dp, dz, dalpha);
  } else {
    BackwardRows(AnySlope<T>{static_cast<T>(2 - alpha)}, alpha, shape, p, dp, dz, dalpha);
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
