// The transform of rows with an α each, a row to a lane.
#if defined(FILIGREE_ENTMAX_ALPHA_BY_LANE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_ENTMAX_ALPHA_BY_LANE_INL_H_
#undef FILIGREE_ENTMAX_ALPHA_BY_LANE_INL_H_
#else
#define FILIGREE_ENTMAX_ALPHA_BY_LANE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "filigree/entmax/transforms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::entmax_kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// An α for every lane: what a lane computes is, to the bit, what AnyAlpha does.
template <class T>
class AlphaByLane : public PowerFormulas<AlphaByLane<T>, T> {
  static constexpr size_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());

 public:
  /// Lanes that are never set may hold anything. All have to be solved with all entries, or none.
  void SetLane(size_t lane, const AnyAlpha<T>& transform) {
    most_whole_ = transform.most_whole();
    epsilon_[lane] = transform.epsilon_;
    inverse_[lane] = transform.inverse_;
    exponent_[lane] = transform.exponent_;
    last_step_[lane] = transform.last_step_;
    least_step_[lane] = transform.least_step_;
    for (int k = 0; k < kRoughTerms; ++k) rough_[k][lane] = transform.rough_[k];
    rough_floor_[lane] = transform.rough_floor_;
    squarings_[lane] = static_cast<T>(transform.squarings_);
    rough_steps_[lane] = static_cast<T>(transform.rough_steps_);
    most_squarings_ = std::max(most_squarings_, transform.squarings_);
    most_rough_steps_ = std::max(most_rough_steps_, transform.rough_steps_);
  }

  size_t most_whole() const { return most_whole_; }
  T epsilon(size_t lane) const { return epsilon_[lane]; }
  double Tau(T theta, T max, size_t lane) const {
    return epsilon_[lane] * (static_cast<double>(theta) + max) - 1;
  }
  template <class D>
  HWY_INLINE hn::Vec<D> Epsilon(D d) const {
    return hn::Load(d, epsilon_);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> Inverse(D d) const {
    return hn::Load(d, inverse_);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> Exponent(D d) const {
    return hn::Load(d, exponent_);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> LastStep(D d) const {
    return hn::Load(d, last_step_);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> LeastStep(D d) const {
    return hn::Load(d, least_step_);
  }

  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V Follow(D d, V t, V theta, V step, V q) const {
    const V u = hn::Max(hn::MulAdd(Epsilon(d), hn::Sub(t, theta), hn::Set(d, T(1))), hn::Zero(d));
    const V near = hn::Max(hn::Mul(q, hn::Sub(u, step)), hn::Zero(d));
    return hn::IfThenElse(hn::Gt(LastStep(d), hn::Set(d, Convex<T>::kLastStep)),
                          this->FollowFar(d, t, theta, step, q), near);
  }

  int rough_steps() const { return most_rough_steps_; }
  /// θ after step i, which some lanes do not take.
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V AfterRoughStep(D d, int i, V theta, V next) const {
    const auto takes = hn::Gt(hn::Load(d, rough_steps_), hn::Set(d, static_cast<T>(i)));
    return hn::IfThenElse(takes, next, theta);
  }

  template <class D, class V = hn::Vec<D>>
  HWY_INLINE void RoughTerms(D d, V t, V top, V& u, V& q) const {
    const V squarings = hn::Load(d, squarings_);
    u = hn::Max(hn::MulAdd(Epsilon(d), t, top), hn::Load(d, rough_floor_));
    V v = u, rest = u;
    for (int i = 0; i < most_squarings_; ++i) {
      const auto squares = hn::Gt(squarings, hn::Set(d, static_cast<T>(i)));
      if (i > 0) rest = hn::IfThenElse(squares, hn::Mul(rest, v), rest);
      v = hn::IfThenElse(squares, hn::Mul(v, v), v);
    }
    V power = hn::Load(d, rough_[kRoughTerms - 1]);
    for (int i = kRoughTerms - 2; i >= 0; --i) {
      power = hn::MulAdd(power, v, hn::Load(d, rough_[i]));
    }
    q = hn::IfThenElse(hn::Gt(squarings, hn::Zero(d)), hn::Mul(power, rest),
                       hn::IfThenElseZero(hn::Gt(u, hn::Zero(d)), power));
  }

 private:
  static constexpr int kRoughTerms = AnyAlpha<T>::kRoughTerms;

  HWY_ALIGN T epsilon_[kLanes] = {}, inverse_[kLanes] = {}, exponent_[kLanes] = {};
  HWY_ALIGN T last_step_[kLanes] = {}, least_step_[kLanes] = {}, rough_[kRoughTerms][kLanes] = {};
  HWY_ALIGN T rough_floor_[kLanes] = {}, squarings_[kLanes] = {}, rough_steps_[kLanes] = {};
  size_t most_whole_ = 0;
  int most_squarings_ = 0, most_rough_steps_ = 0;
};

}  // namespace filigree::entmax_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
