// What the solvers need to know of one transform, in a form that stays well behaved as α → 1: with
// ε = α − 1 and scores t from which the row's maximum was subtracted,
//
//   p = [1 + ε (t − θ)]_+^{1/ε},   Σp = 1,   0 ≤ θ ≤ (1 − n^{−ε}) / ε,
//
// where ε → 0 makes p = exp(t − θ) and θ = log Σ exp t. The threshold of the usual convention is
// τ = ε (θ + max) − 1.
//
// θ comes from Newton's method on the norm of the vector 1 + ε (t − θ), that is on (Σp)^ε = 1,
// which is convex in θ for ε ≤ 1 and nearly straight: from the left it converges without
// overshooting, and for ε → 0 in one step. With F = Σp and S = Σ p^{1−ε} the step is
// F (1 − F^{−ε}) / (ε S).
//
// A transform has Terms, which gives p and q = p^{1−ε} (0 off the support) at t; Step; and Tau.
#if defined(FILIGREE_ENTMAX_TRANSFORMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_ENTMAX_TRANSFORMS_INL_H_
#undef FILIGREE_ENTMAX_TRANSFORMS_INL_H_
#else
#define FILIGREE_ENTMAX_TRANSFORMS_INL_H_
#endif

#include <hwy/highway.h>

#include "filigree/entmax/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::entmax::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace simd = filigree::simd::HWY_NAMESPACE;

/// What the transforms with ε ≤ 1 share.
template <class T>
class Convex {
 public:
  static constexpr bool kConvex = true;

  explicit Convex(double alpha) : epsilon_(static_cast<T>(alpha - 1)) {}

  T epsilon() const { return epsilon_; }
  double Tau(T theta, T max) const { return epsilon_ * (static_cast<double>(theta) + max) - 1; }

 protected:
  T epsilon_;
};

/// 1 < α ≤ 2.
template <class T>
class AnyAlpha : public Convex<T> {
 public:
  explicit AnyAlpha(double alpha)
      : Convex<T>(alpha),
        inverse_(static_cast<T>(1 / (alpha - 1))),
        exponent_(static_cast<T>((2 - alpha) / (alpha - 1))) {}

  template <class D, class V = hn::Vec<D>>
  HWY_INLINE void Terms(D d, V t, V theta, V& p, V& q) const {
    const V minus_one = hn::Set(d, T(-1));
    const V x = hn::Max(hn::Mul(hn::Set(d, epsilon_), hn::Sub(t, theta)), minus_one);
    // q first: p = q (1 + x) saves a second exponential and a division.
    const V power = simd::Exp(d, hn::Mul(hn::Set(d, exponent_), simd::Log1p(d, x)));
    q = hn::IfThenElseZero(hn::Gt(x, minus_one), power);
    p = hn::Mul(q, hn::Sub(x, minus_one));
  }

  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V Step(D d, V f, V s) const {
    const V log = simd::Log1p(d, hn::Sub(f, hn::Set(d, T(1))));
    const V change = simd::OneMinusExpNeg(d, hn::Mul(hn::Set(d, epsilon_), log));
    return hn::Div(hn::Mul(hn::Mul(f, hn::Set(d, inverse_)), change), s);
  }

 private:
  using Convex<T>::epsilon_;
  T inverse_, exponent_;
};

/// α = 1.5: squares instead of powers.
template <class T>
class Entmax15 : public Convex<T> {
 public:
  Entmax15() : Convex<T>(1.5) {}

  template <class D, class V = hn::Vec<D>>
  HWY_INLINE void Terms(D d, V t, V theta, V& p, V& q) const {
    const V v = hn::MulAdd(hn::Set(d, T(0.5)), hn::Sub(t, theta), hn::Set(d, T(1)));
    q = hn::Max(v, hn::Zero(d));
    p = hn::Mul(q, q);
  }

  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V Step(D d, V f, V s) const {
    return hn::Div(hn::Mul(hn::Set(d, T(2)), hn::Sub(f, hn::Sqrt(f))), s);
  }
};

/// α = 2: p is linear in the scores, q counts the support.
template <class T>
class Sparsemax : public Convex<T> {
 public:
  Sparsemax() : Convex<T>(2) {}

  template <class D, class V = hn::Vec<D>>
  HWY_INLINE void Terms(D d, V t, V theta, V& p, V& q) const {
    const V one = hn::Set(d, T(1));
    p = hn::Max(hn::Add(hn::Sub(t, theta), one), hn::Zero(d));
    q = hn::IfThenElseZero(hn::Gt(p, hn::Zero(d)), one);
  }

  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V Step(D d, V f, V s) const {
    return hn::Div(hn::Sub(f, hn::Set(d, T(1))), s);
  }
};

/// α > 2. Near the threshold p is steep, so the unknown is w = 1 − εθ, the value of [·] at the
/// maximum, which keeps its digits however small it gets: p = [w + εt]_+^{1/ε}, n^{−ε} ≤ w ≤ 1.
class SteepAlpha {
 public:
  static constexpr bool kConvex = false;

  explicit SteepAlpha(double alpha) : epsilon_(alpha - 1), exponent_((2 - alpha) / (alpha - 1)) {}

  double epsilon() const { return epsilon_; }
  double Tau(double w, double max) const { return epsilon_ * max - w; }

  template <class D, class V = hn::Vec<D>>
  HWY_INLINE void Terms(D d, V t, V w, V& p, V& q) const {
    const V v = hn::MulAdd(hn::Set(d, epsilon_), t, w);
    const auto support = hn::Gt(v, hn::Zero(d));
    const V safe = hn::IfThenElse(support, v, hn::Set(d, 1.0));
    q = hn::IfThenElseZero(support,
                           simd::Exp(d, hn::Mul(hn::Set(d, exponent_), simd::Log(d, safe))));
    p = hn::Mul(q, safe);
  }

  /// The step of w, which falls where θ grows.
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V Step(D d, V f, V s) const {
    const V change = simd::OneMinusExpNeg(d, hn::Mul(hn::Set(d, epsilon_), simd::Log(d, f)));
    return hn::Neg(hn::Div(hn::Mul(f, change), s));
  }

 private:
  double epsilon_, exponent_;
};

}  // namespace filigree::entmax::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
