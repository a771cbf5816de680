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

template <class D>
struct OnePlusParts {
  hn::Vec<hn::RebindToSigned<D>> k;
  hn::Vec<D> f;
};

/// x = 2ᵏ (1 + f) with 1 + f in [√½, √2], from the bits of x.
template <class D>
HWY_INLINE OnePlusParts<D> Split(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, x);
  const auto k = Exponent(bits);
  const auto mantissa = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(k)));
  return {k, hn::Sub(mantissa, hn::Set(d, 1.0f))};
}

/// 1 + x = 2ᵏ (1 + f) with 1 + f in [√½, √2]; f comes from x itself, so that no digit of a small x
/// is lost.
template <class D>
HWY_INLINE OnePlusParts<D> SplitOnePlus(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> di;
  const auto one = hn::Set(d, 1.0f);
  const auto k = Exponent(hn::BitCast(di, hn::Add(x, one)));
  const auto scale = hn::BitCast(d, hn::Sub(hn::BitCast(di, one), hn::ShiftLeft<23>(k)));
  return {k, hn::MulAdd(scale, x, hn::Sub(scale, one))};
}

/// log(1 + x), also for tiny x. In float: relative error below 2e-7 where 1 + x > 0 is a normal
/// number, some finite value for other x, NaN for NaN.
template <class D>
HWY_INLINE hn::Vec<D> Log1p(D d, hn::Vec<D> x) {
  if constexpr (kIsFloat<D>) {
    const auto parts = SplitOnePlus(d, x);
    return LogOfParts(d, parts.k, parts.f);
  } else {
    return hn::Log1p(d, x);
  }
}

/// log x. In float: for normal x > 0, some finite value for other x, NaN for NaN.
template <class D>
HWY_INLINE hn::Vec<D> Log(D d, hn::Vec<D> x) {
  if constexpr (kIsFloat<D>) {
    const auto parts = Split(d, x);
    return LogOfParts(d, parts.k, parts.f);
  } else {
    return hn::Log(d, x);
  }
}

/// 1 / x for a normal x > 0; in float within a share of 2e-4. (hn::ApproximateReciprocal differs
/// between vectors of different width.)
template <class D>
HWY_INLINE hn::Vec<D> RoughReciprocal(D d, hn::Vec<D> x) {
  if constexpr (kIsFloat<D>) {
    const hn::RebindToSigned<D> di;
    // Negating the exponent is right to 5 %; two terms of the geometric series do the rest.
    const auto y = hn::BitCast(d, hn::Sub(hn::Set(di, 0x7EF311C3), hn::BitCast(di, x)));
    const auto error = hn::NegMulAdd(x, y, hn::Set(d, 1.0f));
    return hn::MulAdd(y, hn::MulAdd(error, error, error), y);
  } else {
    return hn::Div(hn::Set(d, 1.0), x);
  }
}

/// 1 − e⁻ˣ without cancellation.
template <class D>
HWY_INLINE hn::Vec<D> OneMinusExpNeg(D d, hn::Vec<D> x) {
  if constexpr (kIsFloat<D>) {
    const auto one = hn::Set(d, 1.0f);
    auto near = hn::NegMulAdd(x, hn::Set(d, 0.04166667f), hn::Set(d, 0.16666667f));
    near = hn::NegMulAdd(x, near, hn::Set(d, 0.5f));
    near = hn::Mul(x, hn::NegMulAdd(x, near, one));
    const auto is_far = hn::Gt(hn::Abs(x), hn::Set(d, 0.06f));
    if (hn::AllFalse(d, is_far)) return near;
    return hn::IfThenElse(is_far, hn::Sub(one, HWY_NAMESPACE::Exp(d, hn::Neg(x))), near);
  } else {
    return hn::Neg(hn::Expm1(d, hn::Neg(x)));
  }
}

/// k + log₂(1 + f), for the parts of SplitOnePlus and of Split.
template <class D, class VI>
HWY_INLINE hn::Vec<D> Log2OfParts(D d, VI k, hn::Vec<D> f) {
  // log₂(1 + f) / f by interpolation at Chebyshev nodes.
  auto log = hn::Set(d, 0.1231096849f);
  log = hn::MulAdd(log, f, hn::Set(d, -0.2058618807f));
  log = hn::MulAdd(log, f, hn::Set(d, 0.2160782255f));
  log = hn::MulAdd(log, f, hn::Set(d, -0.2391698814f));
  log = hn::MulAdd(log, f, hn::Set(d, 0.2879032609f));
  log = hn::MulAdd(log, f, hn::Set(d, -0.3606932681f));
  log = hn::MulAdd(log, f, hn::Set(d, 0.4809107535f));
  log = hn::MulAdd(log, f, hn::Set(d, -0.7213474682f));
  log = hn::MulAdd(log, f, hn::Set(d, 1.442695004f));
  return hn::MulAdd(log, f, hn::ConvertTo(d, k));
}

/// log₂ x for x > 0. In float: about −127 for what is not above the subnormal numbers.
template <class D>
HWY_INLINE hn::Vec<D> Log2(D d, hn::Vec<D> x) {
  if constexpr (kIsFloat<D>) {
    const auto parts = Split(d, x);
    return Log2OfParts(d, parts.k, parts.f);
  } else {
    return hn::Mul(hn::Log(d, hn::Max(x, hn::Set(d, 2.3e-308))), hn::Set(d, 1.4426950408889634));
  }
}

/// 2ʸ for |y| ≤ 126 (in double: 1022).
template <class D>
HWY_INLINE hn::Vec<D> Exp2(D d, hn::Vec<D> y) {
  if constexpr (kIsFloat<D>) {
    const hn::RebindToSigned<D> di;
    // Adding 1.5·2²³ rounds y to an integer and leaves it in the low bits.
    const auto magic = hn::Set(d, 12582912.0f);
    const auto shifted = hn::Add(y, magic);
    const auto r = hn::Sub(y, hn::Sub(shifted, magic));
    // 2ʳ for |r| ≤ ½.
    auto power = hn::Set(d, 0.000154614447f);
    power = hn::MulAdd(power, r, hn::Set(d, 0.001340042818f));
    power = hn::MulAdd(power, r, hn::Set(d, 0.009618056679f));
    power = hn::MulAdd(power, r, hn::Set(d, 0.05550327227f));
    power = hn::MulAdd(power, r, hn::Set(d, 0.2402265092f));
    power = hn::MulAdd(power, r, hn::Set(d, 0.6931472067f));
    power = hn::MulAdd(power, r, hn::Set(d, 1.0f));
    const auto scale = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
    return hn::BitCast(d, hn::Add(hn::BitCast(di, power), scale));
  } else {
    return hn::Exp(d, hn::Mul(y, hn::Set(d, 0.6931471805599453)));
  }
}

/// Powers below 2 to this are 0 in float: (1 + x) times a smaller one could be subnormal, and
/// arithmetic with subnormal numbers takes a hundred times as long.
inline constexpr float kLowestPower = -100;

/// (1 + x)^exponent for −1 ≤ x ≤ 1 and an exponent ≥ 0, also for tiny x and huge exponents. In
/// float: relative error below 2e-7 (1 + |log of the result|); 0 below 2^kLowestPower; at x = −1
/// something below 2^(−126 exponent).
template <class D>
HWY_INLINE hn::Vec<D> PowerOnePlus(D d, hn::Vec<D> x, hn::Vec<D> exponent) {
  if constexpr (kIsFloat<D>) {
    const auto parts = SplitOnePlus(d, x);
    const auto log = Log2OfParts(d, parts.k, parts.f);
    const auto lowest = hn::Set(d, kLowestPower);
    const auto y = hn::Mul(exponent, log);
    return hn::IfThenElseZero(hn::Gt(y, lowest), Exp2(d, hn::Max(y, lowest)));
  } else {
    return hn::Exp(d, hn::Max(hn::Mul(exponent, hn::Log1p(d, x)), hn::Set(d, -1001.0)));
  }
}

}  // namespace filigree::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
