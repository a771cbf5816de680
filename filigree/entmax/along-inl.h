// One row along the lanes of a vector: for softmax, for long rows and for α > 2.
#if defined(FILIGREE_ENTMAX_ALONG_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_ENTMAX_ALONG_INL_H_
#undef FILIGREE_ENTMAX_ALONG_INL_H_
#else
#define FILIGREE_ENTMAX_ALONG_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>

#include "filigree/entmax/solve-inl.h"
#include "filigree/entmax/survivors-inl.h"
#include "filigree/entmax/transforms-inl.h"
#include "filigree/entmax/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::entmax_kernels::HWY_NAMESPACE {

template <class D, class T = hn::TFromD<D>>
HWY_INLINE RowResult SoftmaxAlong(D d, T scale, const T* z, size_t n, T* p) {
  const T max = MaxOrNan(d, z, n);
  if (!(std::abs(max) < kInfinity<T>)) return OddRow(z, n, max, p);
  auto sum = hn::Zero(d);
  simd::ForEachVector(d, n, [&](size_t i, size_t count) HWY_ATTR {
    const auto v = simd::Load(d, z + i, count, -kInfinity<T>);
    const auto t = hn::Mul(hn::Sub(v, hn::Set(d, max)), hn::Set(d, scale));
    const auto e = simd::Exp(d, t);
    sum = hn::Add(sum, e);
    simd::Store(d, e, p + i, count);
  });
  const T total = simd::Sum(d, sum);
  const auto share = hn::Set(d, T(1) / total);
  size_t support = 0;
  simd::ForEachVector(d, n, [&](size_t i, size_t count) HWY_ATTR {
    const auto v = hn::Mul(simd::Load(d, p + i, count, T(0)), share);
    support += hn::CountTrue(d, hn::Gt(v, hn::Zero(d)));
    simd::Store(d, v, p + i, count);
  });
  return {static_cast<double>(max) * scale + std::log(total), static_cast<int64_t>(support)};
}

/// Entries that the scratch arrays of EntmaxAlong need for rows of n.
template <class D>
HWY_INLINE size_t AlongRoom(D d, size_t n) {
  return n + 3 * hn::Lanes(d);
}

/// One row; `next` entries that follow it will be asked for soon. Scratch: t and q for AlongRoom(n)
/// entries, keep for every vector of the row.
template <class Transform, class D, class T = hn::TFromD<D>>
HWY_INLINE RowResult EntmaxAlong(D d, const Transform& transform, T scale, const T* z, size_t n,
                                 size_t next, T* p, T* HWY_RESTRICT t, T* HWY_RESTRICT q,
                                 KeepBits* HWY_RESTRICT keep) {
  const T max = MaxOrNan(d, z, n);
  if (!(std::abs(max) < kInfinity<T>)) return OddRow(z, n, max, p);
  const size_t lanes = hn::Lanes(d);
  const size_t count = Compact(d, z, n, max, scale, transform.epsilon(), t, keep);
  hn::StoreU(hn::Set(d, -kInfinity<T>), d, t + count);
  hn::StoreU(hn::Set(d, -kInfinity<T>), d, t + count + lanes);
  const size_t end = (count + 2 * lanes - 1) / (2 * lanes) * (2 * lanes);

  Fetch fetch(z + n, next, p, n);
  RowResult result;
  if constexpr (Transform::kConvex) {
    const auto sum_lanes = [d](hn::Vec<D> v) HWY_ATTR { return hn::SumOfLanes(d, v); };
    const auto solution = ReplaceByP(d, transform, t, end, q, fetch, sum_lanes);
    result = {transform.Tau(hn::GetLane(solution.theta), max * scale),
              static_cast<int64_t>(hn::GetLane(solution.support))};
  } else {
    const double w = SolveSteep(d, transform, t, end, count, fetch);
    result = {transform.Tau(w, max * scale), 0};
    auto sum = hn::Zero(d);
    for (size_t i = 0; i < end; i += lanes) {
      hn::Vec<D> u, slope;
      transform.Terms(d, hn::Load(d, t + i), hn::Set(d, w), u, slope);
      const auto v = hn::Mul(slope, u);
      sum = hn::Add(sum, v);
      hn::Store(v, d, t + i);
    }
    const auto share = hn::Div(hn::Set(d, T(1)), hn::SumOfLanes(d, sum));
    for (size_t i = 0; i < end; i += lanes) {
      const auto v = hn::Mul(hn::Load(d, t + i), share);
      result.support += static_cast<int64_t>(hn::CountTrue(d, hn::Gt(v, hn::Zero(d))));
      hn::Store(v, d, t + i);
    }
  }
  Expand(d, t, keep, n, p);
  return result;
}

}  // namespace filigree::entmax_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
