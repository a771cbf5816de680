// What the solvers need to know of one transform with 1 < α ≤ 2, in a form that stays well behaved
// as α → 1: with ε = α − 1 and scores t from which the row's maximum was subtracted,
//
//   p = u_+^{1/ε},   u = 1 + ε (t − θ),   Σp = 1,   0 ≤ θ ≤ (1 − n^{−ε}) / ε,
//
// where ε → 0 makes p = exp(t − θ) and θ = log Σ exp t. The threshold of the usual convention is
// τ = ε (θ + max) − 1.
//
// θ comes from Newton's method on the norm of the vector u, that is on (Σp)^ε = 1, which is convex
// in θ and nearly straight: from the left it converges without overshooting, and for ε → 0 in one
// step. With F = Σp and S = Σq, q = u_+^{1/ε − 1} = −dp/dθ, the step is F (1 − F^{−ε}) / (ε S).
//
// A transform has Terms, which gives u (finite) and q (0 off the support) at t, so that p = qu;
// Step; Tau; the largest step from whose start p may be followed to first order; and one that is
// too short to matter.
#if defined(FILIGREE_ENTMAX_TRANSFORMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_ENTMAX_TRANSFORMS_INL_H_
#undef FILIGREE_ENTMAX_TRANSFORMS_INL_H_
#else
#define FILIGREE_ENTMAX_TRANSFORMS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "filigree/entmax/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::entmax_kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace simd = filigree::simd::HWY_NAMESPACE;

/// The longest rows that are solved across the lanes with all their entries. Up to here packing a
/// row to its survivors costs more than it saves: few entries lie 1/ε below the maximum, and the
/// lanes wait for the row with the most of them. Measured for scores of deviation 1 and 2; what an
/// entry costs differs between the transforms.
inline size_t MostWhole(double alpha) {
  if (alpha == 1.5) return 40;
  if (alpha == 2) return 32;
  const double epsilon = alpha - 1;
  return epsilon < 0.2 ? 64 : static_cast<size_t>(2.6 / (epsilon * epsilon));
}
inline constexpr size_t kMostWhole = 65;  ///< of all α

/// What the transforms share.
template <class T>
class Convex {
 public:
  static constexpr bool kRough = false;

  explicit Convex(double alpha)
      : most_whole_(MostWhole(alpha)),
        epsilon_(static_cast<T>(alpha - 1)),
        least_step_(static_cast<T>(std::pow(std::numeric_limits<T>::epsilon(), alpha - 1))) {}

  size_t most_whole() const { return most_whole_; }
  /// Of a lane, where that makes a difference.
  T epsilon(size_t = 0) const { return epsilon_; }
  double Tau(T theta, T max, size_t = 0) const {
    return epsilon_ * (static_cast<double>(theta) + max) - 1;
  }
  /// The largest step after which p may follow θ to first order.
  static constexpr T kLastStep = sizeof(T) == 4 ? T(1e-5) : T(1e-11);
  template <class D>
  HWY_INLINE hn::Vec<D> LastStep(D d) const {
    return hn::Set(d, kLastStep);
  }
  /// A step that changes p by no more than rounding does, even that of an entry which leaves the
  /// support.
  template <class D>
  HWY_INLINE hn::Vec<D> LeastStep(D d) const {
    return hn::Set(d, least_step_);
  }

  /// p at θ + step, to first order in the step, where q belongs to θ.
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V Follow(D d, V t, V theta, V step, V q) const {
    return hn::Max(hn::Mul(q, hn::Sub(U(d, t, theta), step)), hn::Zero(d));
  }

 protected:
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V U(D d, V t, V theta) const {
    const V u = hn::MulAdd(hn::Set(d, epsilon_), hn::Sub(t, theta), hn::Set(d, T(1)));
    return hn::Max(u, hn::Zero(d));
  }

  size_t most_whole_;
  T epsilon_, least_step_;
};

/// The formulas for 1 < α ≤ 2, with vectors of what depends on α from Self.
template <class Self, class T>
class PowerFormulas {
 public:
  /// p at θ + step to second order, where it is smooth at the threshold, for α < 1.5.
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V FollowFar(D d, V t, V theta, V step, V q) const {
    const V one = hn::Set(d, T(1)), half = hn::Set(d, T(0.5)), epsilon = self().Epsilon(d);
    const V u = hn::Max(hn::MulAdd(epsilon, hn::Sub(t, theta), one), hn::Zero(d));
    const V inverse = simd::RoughReciprocal(d, hn::Max(u, self().LastStep(d)));
    const V square = hn::Mul(hn::Mul(step, step), hn::Sub(half, hn::Mul(half, epsilon)));
    const V moved = hn::MulAdd(square, inverse, hn::Sub(u, step));
    return hn::Max(hn::Mul(q, moved), hn::Zero(d));
  }

  // Rough terms take no logarithm: with 2^m ≤ 1/ε < 2^{m+1} and v = u^{2^{m−1}}, p = v · v^ρ, where
  // 1 ≤ ρ < 3 and a polynomial does for v^ρ. θ comes out right to about 10⁻⁴, so that one exact
  // evaluation is enough. (A power ρ < 1 is not smooth at 0, and small p all lie there. For α > 1.5
  // there is no choice: v = u, 0 ≤ ρ < 1, and θ is right to 10⁻³.)
  static constexpr bool kRough = true;

  /// u of the maximum.
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V Top(D d, V theta) const {
    return hn::NegMulAdd(self().Epsilon(d), theta, hn::Set(d, T(1)));
  }

  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V RoughStep(D d, V f, V s) const {
    const V one = hn::Set(d, T(1)), epsilon = self().Epsilon(d);
    const V y = hn::Mul(hn::Neg(epsilon), simd::Log(d, f));
    return hn::Div(hn::Mul(f, hn::Sub(one, simd::Exp(d, y))), hn::Mul(epsilon, s));
  }

  template <class D, class V = hn::Vec<D>>
  HWY_INLINE void Terms(D d, V t, V theta, V& u, V& q) const {
    const V one = hn::Set(d, T(1));
    const V x = hn::Max(hn::Mul(self().Epsilon(d), hn::Sub(t, theta)), hn::Neg(one));
    u = hn::Add(x, one);
    const V power = simd::PowerOnePlus(d, x, self().Exponent(d));
    q = hn::IfThenElseZero(hn::Gt(u, hn::Zero(d)), power);
  }

  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V Step(D d, V f, V s) const {
    const V log = simd::Log1p(d, hn::Sub(f, hn::Set(d, T(1))));
    const V change = simd::OneMinusExpNeg(d, hn::Mul(self().Epsilon(d), log));
    return hn::Div(hn::Mul(hn::Mul(f, self().Inverse(d)), change), s);
  }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
};

/// 1 < α ≤ 2.
template <class T>
class AnyAlpha : public Convex<T>, public PowerFormulas<AnyAlpha<T>, T> {
 public:
  using PowerFormulas<AnyAlpha<T>, T>::kRough;

  explicit AnyAlpha(double alpha)
      : Convex<T>(alpha),
        inverse_(static_cast<T>(1 / (alpha - 1))),
        exponent_(static_cast<T>((2 - alpha) / (alpha - 1))),
        last_step_(Convex<T>::kLastStep) {
    if (sizeof(T) == 4 && alpha < 1.5) last_step_ = SecondOrderStep(alpha - 1);
    if (alpha - 1 >= kLeastRough) FitRough(1 / (alpha - 1));
  }

  template <class D>
  HWY_INLINE hn::Vec<D> Epsilon(D d) const {
    return hn::Set(d, epsilon_);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> Inverse(D d) const {
    return hn::Set(d, inverse_);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> Exponent(D d) const {
    return hn::Set(d, exponent_);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> LastStep(D d) const {
    return hn::Set(d, last_step_);
  }

  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V Follow(D d, V t, V theta, V step, V q) const {
    return last_step_ > Convex<T>::kLastStep ? this->FollowFar(d, t, theta, step, q)
                                             : Convex<T>::Follow(d, t, theta, step, q);
  }

  int rough_steps() const { return rough_steps_; }
  int squarings() const { return squarings_; }

  template <int kSquarings, class D, class V = hn::Vec<D>>
  HWY_INLINE void RoughTerms(D d, V t, V top, V& u, V& q) const {
    u = hn::Max(hn::MulAdd(hn::Set(d, epsilon_), t, top), hn::Set(d, rough_floor_));
    V v = u, rest = u;  // v / u · u, so that q = v^{1+ρ} / u
    for (int i = 0; i < kSquarings; ++i) {
      if (i > 0) rest = hn::Mul(rest, v);
      v = hn::Mul(v, v);
    }
    V power = hn::Set(d, rough_[kRoughTerms - 1]);
    for (int i = kRoughTerms - 2; i >= 0; --i) power = hn::MulAdd(power, v, hn::Set(d, rough_[i]));
    q = kSquarings > 0 ? hn::Mul(power, rest) : hn::IfThenElseZero(hn::Gt(u, hn::Zero(d)), power);
  }

 private:
  template <class>
  friend class AlphaByLane;

  /// The largest step δ whose third-order share of p, (1 − ε)(1 − 2ε)/6 (δ/u)³, stays below 10⁻⁷ at
  /// p = 1 and below what rounding does to p, about 2⁻²³ / (ε u), down to p = 10⁻⁶.
  static T SecondOrderStep(double epsilon) {
    const double share = (1 - epsilon) * std::max(1 - 2 * epsilon, 0.05) / 6;
    const double u = std::pow(1e-6, epsilon);
    return static_cast<T>(std::cbrt(std::min(1e-7, 1.2e-7 * u * u / epsilon) / share));
  }

  static constexpr double kRoughZero = sizeof(T) == 4 ? 100 : 600;
  static constexpr int kRoughTerms = 7;
  static constexpr double kLeastRough = 1.0 / 31;  // below, two exact steps from 0 are near enough

  /// The polynomial in v that is nearest to v^ρ in the mean square over [0, 1], weighted with v^w:
  /// c_j = K_j Π_{k≠j} (ρ − k) / Π_k (ρ + k + w + 1) with K_j such that c_j = 1 at ρ = j. It solves
  /// equations with a Cauchy matrix.
  void FitRough(double power) {
    squarings_ = std::max(std::ilogb(power) - 1, 0);
    rough_steps_ = power >= 5 ? 2 : 3;
    // As good as 0, and no power of it is subnormal.
    rough_floor_ =
        squarings_ > 0 ? static_cast<T>(std::exp2(-std::ldexp(kRoughZero, -squarings_))) : T(0);
    const double rho = std::ldexp(power, -squarings_) - 1;
    const double weight = squarings_ > 0 ? 0.5 : 1;
    const RoughFactors& factors = squarings_ > 0 ? kHalfWeight : kWholeWeight;
    double below[kRoughTerms];  // Π_{k<j} (ρ − k)
    double product = 1, divisor = 1;
    for (int j = 0; j < kRoughTerms; ++j) {
      below[j] = product;
      product *= rho - j;
      divisor *= rho + j + weight + 1;
    }
    double above = 1 / divisor;  // Π_{k>j} (ρ − k) over the divisor
    for (int j = kRoughTerms - 1; j >= 0; --j) {
      rough_[j] = static_cast<T>(factors[j] * below[j] * above);
      above *= rho - j;
    }
  }

  /// K_j.
  using RoughFactors = std::array<double, kRoughTerms>;
  static constexpr RoughFactors MakeFactors(double weight) {
    RoughFactors factors{};
    for (int j = 0; j < kRoughTerms; ++j) {
      factors[j] = 1;
      for (int k = 0; k < kRoughTerms; ++k) {
        factors[j] *= (j + k + weight + 1) / (k == j ? 1 : j - k);
      }
    }
    return factors;
  }
  static constexpr RoughFactors kHalfWeight = MakeFactors(0.5), kWholeWeight = MakeFactors(1);

  using Convex<T>::epsilon_;
  T inverse_, exponent_, last_step_;
  T rough_[kRoughTerms] = {}, rough_floor_ = 0;
  int squarings_ = -1, rough_steps_ = 0;
};

/// α = 1.5: squares instead of powers.
template <class T>
class Entmax15 : public Convex<T> {
 public:
  Entmax15() : Convex<T>(1.5) {}

  template <class D, class V = hn::Vec<D>>
  HWY_INLINE void Terms(D d, V t, V theta, V& u, V& q) const {
    const V v = hn::MulAdd(hn::Set(d, T(0.5)), hn::Sub(t, theta), hn::Set(d, T(1)));
    u = q = hn::Max(v, hn::Zero(d));
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

  /// Only the support can change from here on, and that of the entries within a step.
  template <class D>
  HWY_INLINE hn::Vec<D> LastStep(D d) const {
    return hn::Set(d, sizeof(T) == 4 ? T(1.2e-7) : T(1e-14));
  }

  template <class D, class V = hn::Vec<D>>
  HWY_INLINE void Terms(D d, V t, V theta, V& u, V& q) const {
    const V one = hn::Set(d, T(1));
    u = hn::Max(hn::Add(hn::Sub(t, theta), one), hn::Zero(d));
    q = hn::IfThenElseZero(hn::Gt(u, hn::Zero(d)), one);
  }

  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V Step(D d, V f, V s) const {
    return hn::Div(hn::Sub(f, hn::Set(d, T(1))), s);
  }
};

}  // namespace filigree::entmax_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
