// The terms that an entry p of the support adds to the entropy H and to its slope, see
// loss_kernels.cpp. With ε = α − 1 and l = −log p,
//
//   H = Σ p l ψ(εl) / α,                 ψ(x) = (1 − e^{−x}) / x
//   ∂H/∂α = −(Σ p l² χ(εl) + H) / α,     χ(x) = −ψ'(x) = (1 − (1 + x) e^{−x}) / x²
//
// ψ and χ are smooth at 0, so nothing cancels as α → 1.
#if defined(FILIGREE_ENTMAX_ENTROPY_TERMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_ENTMAX_ENTROPY_TERMS_INL_H_
#undef FILIGREE_ENTMAX_ENTROPY_TERMS_INL_H_
#else
#define FILIGREE_ENTMAX_ENTROPY_TERMS_INL_H_
#endif

#include <hwy/highway.h>

#include <array>

#include "filigree/entmax/math-inl.h"
#include "filigree/entmax/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::entmax_kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace simd = filigree::simd::HWY_NAMESPACE;

/// p l ψ(εl), where α allows a short cut without logarithm.
struct ShannonTerm {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V p) const {
    return hn::Neg(hn::Mul(p, simd::Log(d, p)));
  }
};
struct GiniTerm {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V p) const {
    return hn::NegMulAdd(p, p, p);
  }
};
struct Entmax15Term {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V p) const {
    const V difference = hn::NegMulAdd(p, hn::Sqrt(p), p);
    return hn::Add(difference, difference);
  }
};
template <class T>
struct AnyTerm {
  T epsilon;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V p) const {
    const V x = hn::Mul(hn::Set(d, -epsilon), simd::Log(d, p));
    return hn::Mul(p, hn::Mul(simd::OneMinusExpNeg(d, x), hn::Set(d, T(1) / epsilon)));
  }
};

/// The first `terms` coefficients of χ(x) = Σ (−1)^k (k + 1) / (k + 2)! x^k.
template <size_t terms>
constexpr std::array<double, terms> chi_coefficients() {
  std::array<double, terms> c{};
  double factorial = 1;
  for (size_t k = 0; k < terms; ++k) {
    factorial *= static_cast<double>(k + 2);
    c[k] = (k % 2 == 0 ? 1.0 : -1.0) * static_cast<double>(k + 1) / factorial;
  }
  return c;
}

/// p l² χ(εl).
template <class D, class V = hn::Vec<D>, class T = hn::TFromD<D>>
HWY_INLINE V AlphaTerm(D d, T epsilon, V p) {
  static constexpr auto kSeries = chi_coefficients < simd::kIsFloat<D> ? 11 : 19 > ();
  const V one = hn::Set(d, T(1));
  const V l = hn::Neg(simd::Log(d, p));
  const V x = hn::Mul(hn::Set(d, epsilon), l);
  V sum = hn::Set(d, static_cast<T>(kSeries.back()));
  for (size_t k = kSeries.size() - 1; k-- > 0;) {
    sum = hn::MulAdd(sum, x, hn::Set(d, static_cast<T>(kSeries[k])));
  }
  const V near = hn::Mul(hn::Mul(l, l), sum);
  const auto is_far = hn::Gt(x, one);
  if (hn::AllFalse(d, is_far)) return hn::Mul(p, near);
  const V scale = hn::Set(d, T(1) / (epsilon * epsilon));
  const V far = hn::Mul(hn::NegMulAdd(hn::Add(x, one), simd::Exp(d, hn::Neg(x)), one), scale);
  return hn::Mul(p, hn::IfThenElse(is_far, far, near));
}

}  // namespace filigree::entmax_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
