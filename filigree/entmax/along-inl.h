// One row along the lanes of a vector: for softmax, for long rows and for α > 2. A score that lies
// 1/ε or more below the maximum is exactly 0, so only the survivors of that test are looked at
// until θ is known.
#if defined(FILIGREE_ENTMAX_ALONG_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_ENTMAX_ALONG_INL_H_
#undef FILIGREE_ENTMAX_ALONG_INL_H_
#else
#define FILIGREE_ENTMAX_ALONG_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "filigree/entmax/transforms-inl.h"
#include "filigree/entmax/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::entmax::HWY_NAMESPACE {

template <class T>
inline constexpr T kInfinity = std::numeric_limits<T>::infinity();

/// What is reported of a row beside p.
struct RowResult {
  double tau;
  int64_t support;
};

/// z − max, where the maximum itself is 0 even if it is infinite.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Shifted(V z, V max) {
  return hn::IfThenZeroElse(hn::Eq(z, max), hn::Sub(z, max));
}

/// Finds the maximum. Returns false, with p and the result written, for the rows that need no more:
/// those with a NaN and those that are masked throughout.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE bool FindMax(D d, const T* z, size_t n, T* p, T* max, RowResult* result) {
  auto running = hn::Set(d, -kInfinity<T>);
  auto nan = simd::NoLanes(d);
  simd::ForEachVector(d, n, [&](size_t i, size_t count) HWY_ATTR {
    const auto v = simd::Load(d, z + i, count, -kInfinity<T>);
    running = hn::Max(running, v);
    nan = hn::Or(nan, hn::IsNaN(v));
  });
  *max = hn::GetLane(hn::MaxOfLanes(d, running));
  const bool has_nan = !hn::AllFalse(d, nan);
  if (!has_nan && *max > -kInfinity<T>) return true;
  const T fill = has_nan ? std::numeric_limits<T>::quiet_NaN() : T(0);
  for (size_t i = 0; i < n; ++i) p[i] = fill;
  *result = has_nan ? RowResult{std::numeric_limits<double>::quiet_NaN(), int64_t(n)}
                    : RowResult{kInfinity<double>, 0};
  return false;
}

/// Divides p by its sum. Returns the number of positive entries.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE int64_t Normalise(D d, T* p, size_t n, T sum) {
  const auto scale = hn::Set(d, T(1) / sum);
  size_t support = 0;
  simd::ForEachVector(d, n, [&](size_t i, size_t count) HWY_ATTR {
    const auto v = hn::Mul(simd::Load(d, p + i, count, T(0)), scale);
    support += hn::CountTrue(d, hn::Gt(v, hn::Zero(d)));
    simd::Store(d, v, p + i, count);
  });
  return static_cast<int64_t>(support);
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE RowResult SoftmaxAlong(D d, const T* z, size_t n, T* p) {
  T max;
  RowResult result;
  if (!FindMax(d, z, n, p, &max, &result)) return result;
  auto sum = hn::Zero(d);
  simd::ForEachVector(d, n, [&](size_t i, size_t count) HWY_ATTR {
    const auto v = simd::Load(d, z + i, count, -kInfinity<T>);
    const auto e = simd::Exp(d, Shifted<D>(v, hn::Set(d, max)));
    sum = hn::Add(sum, e);
    simd::Store(d, e, p + i, count);
  });
  const T total = simd::Sum(d, sum);
  const int64_t support = Normalise(d, p, n, total);
  return {max + std::log(static_cast<double>(total)), support};
}

/// Sums of the terms of all survivors.
template <class T>
struct Sums {
  T f, s;
};

/// At one value of the unknown; t is padded with −inf to whole vectors.
template <class Transform, class D, class T = hn::TFromD<D>>
HWY_INLINE Sums<T> SumTerms(D d, const Transform& transform, const T* t, size_t n, T unknown) {
  auto f = hn::Zero(d), s = hn::Zero(d);
  const auto u = hn::Set(d, unknown);
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    hn::Vec<D> p, q;
    transform.Terms(d, hn::Load(d, t + i), u, p, q);
    f = hn::Add(f, p);
    s = hn::Add(s, q);
  }
  return {simd::Sum(d, f), simd::Sum(d, s)};
}

template <class Transform, class D, class T = hn::TFromD<D>>
HWY_INLINE T NewtonStep(D d, const Transform& transform, Sums<T> sums) {
  return hn::GetLane(transform.Step(d, hn::Set(d, sums.f), hn::Set(d, sums.s)));
}

/// A step below this is the last one: convergence is quadratic, so what remains is its square.
template <class T>
inline constexpr T kLastStep = sizeof(T) == 4 ? T(2e-5) : T(1e-11);

/// No row needs nearly as many: f · f' of a convex function falls at least fourfold with every
/// step.
inline constexpr int kMostSteps = 100;

/// θ for ε ≤ 1.
template <class Transform, class D, class T = hn::TFromD<D>>
HWY_INLINE T SolveConvex(D d, const Transform& transform, const T* t, size_t n) {
  T theta = 0;
  for (int i = 0; i < kMostSteps; ++i) {
    const T step = NewtonStep(d, transform, SumTerms(d, transform, t, n, theta));
    theta += step;
    if (!(std::abs(step) > kLastStep<T>)) break;
  }
  return theta;
}

/// w for ε > 1, where the norm is concave as long as the support stays and rises steeply where an
/// entry enters it: Newton within a bracket, and the bracket's geometric middle when Newton leaves
/// it or is slow to shrink it.
template <class D>
HWY_INLINE double SolveSteep(D d, const SteepAlpha& transform, const double* t, size_t n) {
  constexpr double kSmallest = 1e-200;  // so that p^{1−ε} stays finite; only ties reach it
  constexpr int kPatience = 3;          // steps that may pass before the bracket has to be halved
  double low = std::max(kSmallest, std::pow(static_cast<double>(n), -transform.epsilon()));
  double high = 1, w = low, width = high - low;
  for (int i = 1; i <= kMostSteps && low < high; ++i) {
    const Sums<double> sums = SumTerms(d, transform, t, n, w);
    (sums.f < 1 ? low : high) = w;
    double next = w + NewtonStep(d, transform, sums);
    if (std::abs(next - w) <= 1e-16 * w) break;
    bool slow = false;
    if (i % kPatience == 0) {
      slow = high - low > width / 2;
      width = high - low;
    }
    if (!(next > low && next < high) || slow) next = std::sqrt(low) * std::sqrt(high);
    if (next <= low || next >= high) break;
    w = next;
  }
  return w;
}

/// One row; `t` is scratch for n entries and a vector more.
template <class Transform, class D, class T = hn::TFromD<D>>
HWY_INLINE RowResult EntmaxAlong(D d, const Transform& transform, const T* z, size_t n, T* p,
                                 T* HWY_RESTRICT t) {
  T max;
  RowResult result;
  if (!FindMax(d, z, n, p, &max, &result)) return result;

  const auto minus_one = hn::Set(d, T(-1)), epsilon = hn::Set(d, transform.epsilon());
  size_t survivors = 0;
  simd::ForEachVector(d, n, [&](size_t i, size_t count) HWY_ATTR {
    const auto v = Shifted<D>(simd::Load(d, z + i, count, -kInfinity<T>), hn::Set(d, max));
    const auto keep = hn::Gt(hn::Mul(v, epsilon), minus_one);
    survivors += hn::CompressStore(v, keep, d, t + survivors);
  });
  hn::StoreU(hn::Set(d, -kInfinity<T>), d, t + survivors);
  T unknown;
  if constexpr (Transform::kConvex) {
    unknown = SolveConvex(d, transform, t, survivors);
  } else {
    unknown = SolveSteep(d, transform, t, survivors);
  }

  auto sum = hn::Zero(d);
  simd::ForEachVector(d, n, [&](size_t i, size_t count) HWY_ATTR {
    const auto v = Shifted<D>(simd::Load(d, z + i, count, -kInfinity<T>), hn::Set(d, max));
    auto terms = hn::Zero(d);
    if (!hn::AllFalse(d, hn::Gt(hn::Mul(v, epsilon), minus_one))) {
      hn::Vec<D> q;
      transform.Terms(d, v, hn::Set(d, unknown), terms, q);
      sum = hn::Add(sum, terms);
    }
    simd::Store(d, terms, p + i, count);
  });
  const int64_t support = Normalise(d, p, n, simd::Sum(d, sum));
  return {transform.Tau(unknown, max), support};
}

}  // namespace filigree::entmax::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
