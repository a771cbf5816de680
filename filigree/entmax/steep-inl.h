// α > 2, one row along the lanes, in double. Near the threshold p = u^{1/ε} is steep, so that the
// threshold itself has too few digits. The unknown is instead y, the probability of the smallest
// score t_k of the support: with ε = α − 1,
//
//   p_i = (y^ε + ε (t_i − t_k))^{1/ε},   Σp = 1,
//
// where nothing cancels. Σp is convex in y, so that Newton's method comes down to the root from y =
// 1 / support. With y = 0 the sum shows whether t_k is in the support: it then is below 1.
#if defined(FILIGREE_ENTMAX_STEEP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_ENTMAX_STEEP_INL_H_
#undef FILIGREE_ENTMAX_STEEP_INL_H_
#else
#define FILIGREE_ENTMAX_STEEP_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "filigree/entmax/math-inl.h"
#include "filigree/entmax/solve-inl.h"
#include "filigree/entmax/survivors-inl.h"
#include "filigree/entmax/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::entmax_kernels::HWY_NAMESPACE {

/// p as a function of t, given t_k and y.
template <class D>
class SteepTerms {
 public:
  using V = hn::Vec<D>;

  SteepTerms(D d, double epsilon, double smallest, double y)
      : epsilon_(hn::Set(d, epsilon)),
        inverse_(hn::Set(d, 1 / epsilon)),
        smallest_(hn::Set(d, smallest)),
        power_(hn::Set(d, std::pow(y, epsilon))),
        y_(hn::Set(d, y)) {}

  /// p of the scores above t_k, 0 for others; slope receives y ∂p/∂y, at most p.
  HWY_INLINE V Above(D d, V t, V& slope) const {
    const V gap = hn::Mul(epsilon_, hn::Sub(t, smallest_));
    const auto above = hn::Gt(gap, hn::Zero(d));
    const V u = hn::IfThenElse(above, hn::Add(power_, gap), hn::Set(d, 1.0));
    const V p = hn::IfThenElseZero(above, simd::Exp(d, hn::Mul(inverse_, simd::Log(d, u))));
    slope = hn::Mul(p, hn::Div(power_, u));
    return p;
  }

  /// p of any score.
  HWY_INLINE V P(D d, V t) const {
    V slope;
    const V p = Above(d, t, slope);
    return hn::IfThenElse(hn::Eq(t, smallest_), y_, p);
  }

 private:
  V epsilon_, inverse_, smallest_, power_, y_;
};

/// Sums over the scores above t_k.
struct SteepSums {
  double p, slope;
};

/// Reads t up to the end of a vector; what is there beyond n must not be above t_k.
template <class D>
HWY_INLINE SteepSums SumAbove(D d, const SteepTerms<D>& terms, const double* t, size_t n) {
  auto p = hn::Zero(d), slopes = p;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    hn::Vec<D> slope;
    p = hn::Add(p, terms.Above(d, hn::LoadU(d, t + i), slope));
    slopes = hn::Add(slopes, slope);
  }
  return {simd::Sum(d, p), simd::Sum(d, slopes)};
}

/// Brings the support to the front of t, its smallest score last; returns its size. t holds n
/// entries and a vector of −inf.
template <class D>
HWY_INLINE size_t SupportFirst(D d, double epsilon, double* t, size_t n) {
  size_t inside = 0,
         end = n;  // entries before `inside` are in the support, from `end` on they are not
  while (inside < end) {
    const size_t middle = inside + (end - inside) / 2;
    std::nth_element(t + inside, t + middle, t + end, std::greater<>());
    const SteepTerms<D> terms(d, epsilon, t[middle], 0);
    if (SumAbove(d, terms, t, middle).p < 1) {
      inside = middle + 1;
    } else {
      end = middle;
    }
  }
  return inside;
}

/// y, from the support as SupportFirst leaves it.
template <class D>
HWY_INLINE double SmallestP(D d, double epsilon, const double* t, size_t support) {
  constexpr double kLeast = 1e-30;  // positive in float as well, and nothing beside 1
  const double smallest = t[support - 1];
  const double ties = static_cast<double>(std::count(t, t + support, smallest));
  double y = 1 / static_cast<double>(support);
  for (int i = 0; i < kMostSteps; ++i) {
    const SteepSums sums = SumAbove(d, SteepTerms<D>(d, epsilon, smallest, y), t, support);
    const double step = (sums.p + ties * y - 1) / (ties + sums.slope / y);
    y = std::max(y - step, kLeast);
    if (step <= 1e-10 * y) break;  // the next would be its square
  }
  return y;
}

/// Replaces one row of scores by p. Scratch: t and sorted for AlongRoom(n) entries, keep for every
/// vector of the row.
template <class D>
HWY_INLINE RowResult EntmaxSteep(D d, double epsilon, double scale, double* row, size_t n,
                                 double* HWY_RESTRICT t, double* HWY_RESTRICT sorted,
                                 KeepBits* HWY_RESTRICT keep) {
  const double max = MaxOrNan(d, row, n);
  if (!(std::abs(max) < kInfinity<double>)) return OddRow(row, n, max, row);
  const size_t lanes = hn::Lanes(d);
  const size_t count = Compact(d, row, n, max, scale, epsilon, t, keep);
  hn::StoreU(hn::Set(d, -kInfinity<double>), d, t + count);
  std::copy(t, t + count + lanes, sorted);
  const size_t support = SupportFirst(d, epsilon, sorted, count);
  const double smallest = sorted[support - 1], y = SmallestP(d, epsilon, sorted, support);

  const SteepTerms<D> terms(d, epsilon, smallest, y);
  auto sum = hn::Zero(d);
  for (size_t i = 0; i < count; i += lanes) {
    const auto p = terms.P(d, hn::Load(d, t + i));
    sum = hn::Add(sum, p);
    hn::Store(p, d, t + i);
  }
  const auto share = hn::Div(hn::Set(d, 1.0), hn::SumOfLanes(d, sum));
  for (size_t i = 0; i < count; i += lanes) {
    hn::Store(hn::Mul(hn::Load(d, t + i), share), d, t + i);
  }
  Expand(d, t, keep, n, row);
  return {epsilon * (max * scale + smallest) - std::pow(y, epsilon), static_cast<int64_t>(support)};
}

}  // namespace filigree::entmax_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
