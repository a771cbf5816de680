// Short rows, a row to a lane: no sums across lanes, no scalar powers, no lane idle because a row
// is shorter than a vector. Attention rows of training sentences are of this kind. What a lane
// computes depends on nothing but its row, whatever the number of lanes.
#if defined(FILIGREE_ENTMAX_ACROSS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_ENTMAX_ACROSS_INL_H_
#undef FILIGREE_ENTMAX_ACROSS_INL_H_
#else
#define FILIGREE_ENTMAX_ACROSS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "filigree/entmax/along-inl.h"
#include "filigree/entmax/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::entmax::HWY_NAMESPACE {

/// The longest row for which a block of transposed rows stays in the first-level cache.
inline constexpr int64_t kMostAcross = 128;

/// α-entmax with ε ≤ 1 of at most Lanes(d) rows of at most kMostAcross entries.
template <class Transform, class D, class T = hn::TFromD<D>>
HWY_INLINE void EntmaxAcross(D d, const Transform& transform, Rows shape, const T* z, T* p, T* tau,
                             int64_t* support) {
  constexpr size_t kLanes = hn::MaxLanes(d);
  // Entry i of row r lies at i * lanes + r.
  HWY_ALIGN T scores[kMostAcross * kLanes], terms[kMostAcross * kLanes],
      slopes[kMostAcross * kLanes];
  const size_t lanes = hn::Lanes(d);
  const size_t rows = static_cast<size_t>(shape.rows);
  const auto length = [&](size_t r) {
    return static_cast<size_t>(shape.lengths ? shape.lengths[r] : shape.size);
  };
  size_t n = 0;
  for (size_t r = 0; r < rows; ++r) n = std::max(n, length(r));
  const size_t end = n * lanes;

  const auto masked = hn::Set(d, -kInfinity<T>);
  if (shape.lengths || rows < lanes) {
    for (size_t i = 0; i < end; i += lanes) hn::Store(masked, d, scores + i);
  }
  for (size_t r = 0; r < rows; ++r) {
    const T* row = z + r * shape.stride;
    const size_t count = length(r);
    for (size_t i = 0; i < count; ++i) scores[i * lanes + r] = row[i];
  }

  auto max = masked;
  auto nan = simd::NoLanes(d);
  for (size_t i = 0; i < end; i += lanes) {
    const auto v = hn::Load(d, scores + i);
    nan = hn::Or(nan, hn::IsNaN(v));
    max = hn::Max(max, v);
  }
  const auto dead = hn::Eq(max, masked);  // its t are all 0: solved like a row of ties, then zeroed
  for (size_t i = 0; i < end; i += lanes) {
    const auto t = Shifted<D>(hn::Load(d, scores + i), max);
    hn::Store(hn::IfThenZeroElse(nan, t), d, scores + i);
  }

  auto theta = hn::Zero(d), step = hn::Zero(d);
  for (int steps = 0; steps < kMostSteps; ++steps) {
    auto f = hn::Zero(d), s = hn::Zero(d);
    for (size_t i = 0; i < end; i += lanes) {
      hn::Vec<D> term, slope;
      transform.Terms(d, hn::Load(d, scores + i), theta, term, slope);
      f = hn::Add(f, term);
      s = hn::Add(s, slope);
      hn::Store(term, d, terms + i);
      hn::Store(slope, d, slopes + i);
    }
    step = transform.Step(d, f, s);
    const auto active = hn::Gt(hn::Abs(step), hn::Set(d, kLastStep<T>));
    if (hn::AllFalse(d, active)) break;
    // A row that has arrived stays where it is, so that it does not depend on its neighbours.
    theta = hn::IfThenElse(active, hn::Add(theta, step), theta);
  }

  // The terms belong to θ before the last step; they follow it to first order, dp/dθ = −q.
  theta = hn::Add(theta, step);
  auto sum = hn::Zero(d);
  for (size_t i = 0; i < end; i += lanes) {
    const auto term = hn::NegMulAdd(hn::Load(d, slopes + i), step, hn::Load(d, terms + i));
    const auto positive = hn::Max(term, hn::Zero(d));
    sum = hn::Add(sum, positive);
    hn::Store(positive, d, terms + i);
  }
  const auto scale = hn::IfThenZeroElse(dead, hn::Div(hn::Set(d, T(1)), sum));
  auto count = hn::Zero(d);
  for (size_t i = 0; i < end; i += lanes) {
    const auto v = hn::Mul(hn::Load(d, terms + i), scale);
    count = hn::Add(count, hn::IfThenElseZero(hn::Gt(v, hn::Zero(d)), hn::Set(d, T(1))));
    hn::Store(hn::IfThenElse(nan, hn::NaN(d), v), d, terms + i);
  }

  HWY_ALIGN T lane_theta[kLanes], lane_max[kLanes], lane_count[kLanes];
  hn::Store(theta, d, lane_theta);
  hn::Store(hn::IfThenElse(nan, hn::NaN(d), max), d, lane_max);
  hn::Store(count, d, lane_count);
  for (size_t r = 0; r < rows; ++r) {
    T* row = p + r * shape.stride;
    const size_t size = length(r);
    for (size_t i = 0; i < size; ++i) row[i] = terms[i * lanes + r];
    simd::FillZero(row + size, row + shape.size);
    if (tau) {
      tau[r] = lane_max[r] == -kInfinity<T>
                   ? kInfinity<T>
                   : static_cast<T>(transform.Tau(lane_theta[r], lane_max[r]));
    }
    if (support) support[r] = static_cast<int64_t>(lane_count[r]);
  }
}

}  // namespace filigree::entmax::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
