// One row along the lanes of a vector: for softmax and for long rows.
#if defined(FILIGREE_ENTMAX_ALONG_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_ENTMAX_ALONG_INL_H_
#undef FILIGREE_ENTMAX_ALONG_INL_H_
#else
#define FILIGREE_ENTMAX_ALONG_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
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
  const auto sum = simd::SumInBlocks(d, n, [&](size_t i) HWY_ATTR {
    const size_t count = std::min(hn::Lanes(d), n - i);
    const auto v = simd::Load(d, z + i, count, -kInfinity<T>);
    const auto t = hn::Mul(hn::Sub(v, hn::Set(d, max)), hn::Set(d, scale));
    const auto e = simd::Exp(d, t);
    simd::Store(d, e, p + i, count);
    return e;
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
  const auto sum_lanes = [d](hn::Vec<D> v) HWY_ATTR { return hn::SumOfLanes(d, v); };
  const auto solution = ReplaceByP(d, transform, t, end, q, fetch, sum_lanes);
  Expand(d, t, keep, n, p);
  return {transform.Tau(hn::GetLane(solution.theta), max * scale),
          static_cast<int64_t>(hn::GetLane(solution.support))};
}

}  // namespace filigree::entmax_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
