// Newton's method for θ, for a row to a lane or for one row along the lanes.
#if defined(FILIGREE_ENTMAX_SOLVE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_ENTMAX_SOLVE_INL_H_
#undef FILIGREE_ENTMAX_SOLVE_INL_H_
#else
#define FILIGREE_ENTMAX_SOLVE_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>

#include "filigree/entmax/alpha_by_lane-inl.h"
#include "filigree/entmax/transforms-inl.h"
#include "filigree/entmax/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::entmax_kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace simd = filigree::simd::HWY_NAMESPACE;

/// No row needs nearly as many: f · f' of a convex function falls at least fourfold with every
/// step.
inline constexpr int kMostSteps = 100;

/// Brings memory closer, a little with every call, while the arithmetic goes on: solving is the
/// only part of the work that does not touch the rows themselves.
class Fetch {
 public:
  /// The next rows to be read, and where the present ones will be written (may be null).
  template <class T>
  Fetch(const T* next, size_t next_size, const T* out, size_t out_size)
      : ranges_{
            {reinterpret_cast<const char*>(next), reinterpret_cast<const char*>(next + next_size)},
            {reinterpret_cast<const char*>(out), reinterpret_cast<const char*>(out + out_size)}} {}

  HWY_INLINE void operator()() {
    for (Range& range : ranges_) {
      if (range.at < range.end) {
        hwy::Prefetch(range.at);
        range.at += kLine;
      }
    }
  }

 private:
  static constexpr size_t kLine = 64;
  struct Range {
    const char *at, *end;
  };
  Range ranges_[2];
};

/// F = Σp and S = Σq at one θ, over vectors of t, two at a time; terms(t, u, q).
template <class D, class Terms, class T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE void SumTerms(D d, const T* HWY_RESTRICT t, size_t n, Fetch& fetch, V& f, V& s,
                         Terms&& terms) {
  const size_t lanes = hn::Lanes(d);
  V f0 = hn::Zero(d), s0 = f0, f1 = f0, s1 = f0;
  for (size_t i = 0; i < n; i += 2 * lanes) {
    V u, q;
    fetch();
    terms(i, hn::Load(d, t + i), u, q);
    f0 = hn::MulAdd(q, u, f0);
    s0 = hn::Add(s0, q);
    terms(i + lanes, hn::Load(d, t + i + lanes), u, q);
    f1 = hn::MulAdd(q, u, f1);
    s1 = hn::Add(s1, q);
  }
  f = hn::Add(f0, f1);
  s = hn::Add(s0, s1);
}

/// θ before the last step, S there, and the step.
template <class D>
struct Theta {
  hn::Vec<D> before, slope, step;
};

/// Steps with rough sums, from 0; without a number of squarings, those of the lanes.
template <int kSquarings, class Transform, class D, class Reduce, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> RoughSteps(D d, const Transform& transform, const T* t, size_t n,
                                 Fetch& fetch, const Reduce& reduce) {
  using V = hn::Vec<D>;
  V theta = hn::Zero(d);
  for (int i = 0; i < transform.rough_steps(); ++i) {
    V f, s;
    const V top = transform.Top(d, theta);
    SumTerms(d, t, n, fetch, f, s, [&](size_t, V v, V& u, V& q) HWY_ATTR {
      if constexpr (kSquarings < 0) {
        transform.RoughTerms(d, v, top, u, q);
      } else {
        transform.template RoughTerms<kSquarings>(d, v, top, u, q);
      }
    });
    const V next =
        hn::Max(hn::Add(theta, transform.RoughStep(d, reduce(f), reduce(s))), hn::Zero(d));
    if constexpr (kSquarings < 0) {
      theta = transform.AfterRoughStep(d, i, theta, next);
    } else {
      theta = next;
    }
  }
  return theta;
}

/// A point near the solution, for a transform whose exact terms are dear.
template <class Transform, class D, class Reduce, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> Start(D d, const Transform& transform, const T* t, size_t n, Fetch& fetch,
                            const Reduce& reduce) {
  if constexpr (std::is_same_v<Transform, AlphaByLane<T>>) {
    return RoughSteps<-1>(d, transform, t, n, fetch, reduce);
  } else if constexpr (Transform::kRough) {
    switch (transform.squarings()) {
      case 0:
        return RoughSteps<0>(d, transform, t, n, fetch, reduce);
      case 1:
        return RoughSteps<1>(d, transform, t, n, fetch, reduce);
      case 2:
        return RoughSteps<2>(d, transform, t, n, fetch, reduce);
      case 3:
        return RoughSteps<3>(d, transform, t, n, fetch, reduce);
    }
  }
  return hn::Zero(d);
}

/// θ for ε ≤ 1. t holds n entries, an even number of whole vectors, padded with −inf. reduce turns
/// a vector of sums into the sums of the rows. slopes receives q at θ.before.
template <class Transform, class D, class Reduce, class T = hn::TFromD<D>>
HWY_INLINE Theta<D> SolveConvex(D d, const Transform& transform, const T* HWY_RESTRICT t, size_t n,
                                T* HWY_RESTRICT slopes, Fetch& fetch, const Reduce& reduce) {
  using V = hn::Vec<D>;
  Theta<D> theta{Start(d, transform, t, n, fetch, reduce), hn::Zero(d), hn::Zero(d)};
  const V last = transform.LastStep(d), least = transform.LeastStep(d);
  const V patience = hn::Set(d, T(64));
  V previous = hn::Zero(d);
  auto active = hn::Eq(previous, previous);
  for (int i = 0; i < kMostSteps; ++i) {
    V f, s;
    SumTerms(d, t, n, fetch, f, s, [&](size_t at, V v, V& u, V& q) HWY_ATTR {
      transform.Terms(d, v, theta.before, u, q);
      hn::Store(q, d, slopes + at);
    });
    theta.slope = reduce(s);
    theta.step = transform.Step(d, reduce(f), theta.slope);
    // A short step may be followed if it is much shorter than the one before. If not, entries are
    // leaving the support with every step, and the next may be as long.
    const V length = hn::Abs(theta.step);
    const auto slow = hn::And(hn::Gt(length, least), hn::Gt(hn::Mul(length, patience), previous));
    // A row that has arrived stays where it is, so that it does not depend on its neighbours.
    active = hn::And(active, hn::Or(hn::Gt(length, last), slow));
    if (hn::AllFalse(d, active)) break;
    previous = length;
    theta.before = hn::IfThenElse(active, hn::Add(theta.before, theta.step), theta.before);
  }
  return theta;
}

/// What is known of a row when p is.
template <class D>
struct Solution {
  hn::Vec<D> theta, support;
};

/// Replaces t by p, for ε ≤ 1; arguments as above.
template <class Transform, class D, class Reduce, class T = hn::TFromD<D>>
HWY_INLINE Solution<D> ReplaceByP(D d, const Transform& transform, T* HWY_RESTRICT t, size_t n,
                                  T* HWY_RESTRICT slopes, Fetch& fetch, const Reduce& reduce) {
  const size_t lanes = hn::Lanes(d);
  const auto one = hn::Set(d, T(1)), zero = hn::Zero(d);
  const Theta<D> theta = SolveConvex(d, transform, t, n, slopes, fetch, reduce);
  const auto sum = simd::SumInBlocks(d, n, [&](size_t i) HWY_ATTR {
    const auto p =
        transform.Follow(d, hn::Load(d, t + i), theta.before, theta.step, hn::Load(d, slopes + i));
    hn::Store(p, d, t + i);
    return p;
  });
  // What the sum lacks to 1 is the error of θ, which is far below the step.
  const auto rest = hn::Div(hn::Sub(reduce(sum), one), theta.slope);
  auto support = zero;
  for (size_t i = 0; i < n; i += lanes) {
    const auto moved = hn::NegMulAdd(hn::Load(d, slopes + i), rest, hn::Load(d, t + i));
    const auto p = hn::Max(moved, zero);
    support = hn::Add(support, hn::IfThenElseZero(hn::Gt(p, zero), one));
    hn::Store(p, d, t + i);
  }
  return {hn::Add(theta.before, hn::Add(theta.step, rest)), reduce(support)};
}

}  // namespace filigree::entmax_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
