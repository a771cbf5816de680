// Vectorised exp, log and log1p. The float versions trade the corners of the domain that these
// kernels never enter for speed; the double versions are Highway's.
//
// Included once per instruction set: see the note on Highway in forward.cpp.
#if defined(FILIGREE_ENTMAX_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_ENTMAX_MATH_INL_H_
#undef FILIGREE_ENTMAX_MATH_INL_H_
#else
#define FILIGREE_ENTMAX_MATH_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace filigree::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
inline constexpr bool kIsFloat = sizeof(hn::TFromD<D>) == 4;

/// eˣ. In float for x ≤ 88, relative error below 1.2e-7, and 0 where the result would be subnormal
/// (x < −87.33).
template <class D>
HWY_INLINE hn::Vec<D> Exp(D d, hn::Vec<D> x) {
  if constexpr (kIsFloat<D>) {
    const hn::RebindToSigned<D> di;
    constexpr float kLowest = -87.33f;
    // Adding 1.5·2²³ rounds x / ln 2 to an integer k and leaves k in the low bits.
    const auto magic = hn::Set(d, 12582912.0f);
    const auto clamped = hn::Max(x, hn::Set(d, kLowest));
    const auto shifted = hn::MulAdd(clamped, hn::Set(d, 1.44269504f), magic);
    const auto k = hn::Sub(shifted, magic);
    // r = x − k ln 2 in two parts, |r| ≤ ln 2 / 2.
    auto r = hn::NegMulAdd(k, hn::Set(d, 0.693359375f), clamped);
    r = hn::NegMulAdd(k, hn::Set(d, -2.12194440e-4f), r);
    // eʳ = 1 + r + r² P(r), P by interpolation at Chebyshev nodes.
    auto poly = hn::Set(d, 0.0013926181709f);
    poly = hn::MulAdd(poly, r, hn::Set(d, 0.0083631779999f));
    poly = hn::MulAdd(poly, r, hn::Set(d, 0.0416665561497f));
    poly = hn::MulAdd(poly, r, hn::Set(d, 0.1666657626629f));
    poly = hn::MulAdd(poly, r, hn::Set(d, 0.5f));
    poly = hn::MulAdd(hn::Mul(poly, r), r, r);
    poly = hn::Add(poly, hn::Set(d, 1.0f));
    const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
    const auto result = hn::BitCast(d, hn::Add(hn::BitCast(di, poly), exponent));
    return hn::IfThenElseZero(hn::Ge(x, hn::Set(d, kLowest)), result);
  } else {
    return hn::Exp(d, hn::Max(x, hn::Set(d, -1001.0)));
  }
}

/// k ln 2 + log(1 + f) for 1 + f in [√½, √2], k as integers in the lanes of a float.
template <class D, class VI>
HWY_INLINE hn::Vec<D> LogOfParts(D d, VI k, hn::Vec<D> f) {
  // log(1 + f) = f − f²/2 + f³ P(f), P by interpolation at Chebyshev nodes.
  auto poly = hn::Set(d, -0.0790274366736f);
  poly = hn::MulAdd(poly, f, hn::Set(d, 0.1262231916189f));
  poly = hn::MulAdd(poly, f, hn::Set(d, -0.1299818307161f));
  poly = hn::MulAdd(poly, f, hn::Set(d, 0.1421449631453f));
  poly = hn::MulAdd(poly, f, hn::Set(d, -0.1664128154516f));
  poly = hn::MulAdd(poly, f, hn::Set(d, 0.2000104486942f));
  poly = hn::MulAdd(poly, f, hn::Set(d, -0.2500030696392f));
  poly = hn::MulAdd(poly, f, hn::Set(d, 0.3333333134651f));
  poly = hn::MulAdd(poly, f, hn::Set(d, -0.5f));
  const auto log_f = hn::MulAdd(hn::Mul(f, f), poly, f);
  return hn::MulAdd(hn::ConvertTo(d, k), hn::Set(d, 0.693147181f), log_f);
}

/// The k with x = 2ᵏ m, m in [√½, √2], for normal x > 0, from the bits of x.
template <class VI>
HWY_INLINE VI Exponent(VI bits) {
  const hn::DFromV<VI> di;
  return hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3f3504f3)));
}

/// log(1 + x), also for tiny x. In float: relative error below 2e-7 where 1 + x > 0 is a normal
/// number, some finite value for other x, NaN for NaN.
template <class D>
HWY_INLINE hn::Vec<D> Log1p(D d, hn::Vec<D> x) {
  if constexpr (kIsFloat<D>) {
    const hn::RebindToSigned<D> di;
    const auto one = hn::Set(d, 1.0f);
    // 1 + x = 2ᵏ (1 + f), and f comes from x itself so that no digit of a small x is lost.
    const auto k = Exponent(hn::BitCast(di, hn::Add(x, one)));
    const auto scale = hn::BitCast(d, hn::Sub(hn::BitCast(di, one), hn::ShiftLeft<23>(k)));
    return LogOfParts(d, k, hn::MulAdd(scale, x, hn::Sub(scale, one)));
  } else {
    return hn::Log1p(d, x);
  }
}

/// log x. In float: for normal x > 0, some finite value for other x, NaN for NaN.
template <class D>
HWY_INLINE hn::Vec<D> Log(D d, hn::Vec<D> x) {
  if constexpr (kIsFloat<D>) {
    const hn::RebindToSigned<D> di;
    const auto bits = hn::BitCast(di, x);
    const auto k = Exponent(bits);
    const auto mantissa = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(k)));
    return LogOfParts(d, k, hn::Sub(mantissa, hn::Set(d, 1.0f)));
  } else {
    return hn::Log(d, x);
  }
}

/// 1 − e⁻ˣ without cancellation.
template <class D>
HWY_INLINE hn::Vec<D> OneMinusExpNeg(D d, hn::Vec<D> x) {
  return hn::Neg(hn::Expm1(d, hn::Neg(x)));
}

}  // namespace filigree::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
