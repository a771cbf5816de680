// The loss needs p and one more pass over the row while it is in the cache. With ε = α − 1,
// l = −log p on the support, and scores t from which the row's maximum was subtracted,
//
//   L = Σ p t + H − (1 − s) t_target − s mean(t),  with H = Σ p l ψ(εl) / α
//   ∂L/∂α = ∂H/∂α = −(Σ p l² χ(εl) + H) / α
//
// and ψ and χ of entropy_terms-inl.h. An error in p enters L squared only: p is where Σ p t + H has
// its maximum.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filigree/entmax/loss_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "filigree/entmax/entropy_terms-inl.h"
#include "filigree/entmax/loss_kernels.h"
#include "filigree/entmax/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::entmax_kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace simd = filigree::simd::HWY_NAMESPACE;

/// z − max, where the maximum itself is 0 even if it is infinite.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V BelowMax(D d, V z, V max) {
  return hn::IfThenZeroElse(hn::Eq(z, max), hn::Sub(z, max));
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE T MaxOf(D d, const T* z, size_t n) {
  const auto masked = hn::Set(d, -std::numeric_limits<T>::infinity());
  auto max = masked;
  simd::ForEachVector(d, n, [&](size_t i, size_t count) HWY_ATTR {
    max = hn::Max(max, simd::Load(d, z + i, count, -std::numeric_limits<T>::infinity()));
  });
  return hn::GetLane(hn::MaxOfLanes(d, max));
}

/// Whether the sign bit is set, as in −0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> HasSign(D d, V v) {
  const hn::RebindToSigned<D> di;
  return hn::RebindMask(d, hn::Lt(hn::BitCast(di, v), hn::Zero(di)));
}

/// Entries that are added up in T before the sum goes on in double.
inline constexpr size_t kSumBlock = 1024;

struct RowSums {
  double expected = 0;  ///< Σ p t
  double entropy = 0;   ///< αH
  double slope = 0;     ///< Σ p l² χ(εl)
};

template <bool kWithAlpha, class Term, class D, class T = hn::TFromD<D>>
HWY_INLINE RowSums SumOverSupport(D d, const Term& term, T epsilon, const T* z, const T* p,
                                  size_t n, T max) {
  const auto zero = hn::Zero(d);
  RowSums sums;
  for (size_t begin = 0; begin < n; begin += kSumBlock) {
    auto expected = zero, entropy = zero, slope = zero;
    const T *block_z = z + begin, *block_p = p + begin;
    simd::ForEachVector(d, std::min(kSumBlock, n - begin), [&](size_t i, size_t count) HWY_ATTR {
      const auto v = simd::Load(d, block_p + i, count, T(0));
      const auto support = hn::Gt(v, zero);
      if (hn::AllFalse(d, support)) return;
      const auto t = BelowMax(d, simd::Load(d, block_z + i, count, T(0)), hn::Set(d, max));
      expected = hn::Add(expected, hn::IfThenElseZero(support, hn::Mul(v, t)));
      // A subnormal p counts as the smallest normal number, which log can handle.
      const auto safe = hn::IfThenElse(
          support, hn::Max(v, hn::Set(d, std::numeric_limits<T>::min())), hn::Set(d, T(1)));
      entropy = hn::Add(entropy, term(d, safe));
      if constexpr (kWithAlpha) slope = hn::Add(slope, AlphaTerm(d, epsilon, safe));
    });
    sums.expected += simd::Sum(d, expected);
    sums.entropy += simd::Sum(d, entropy);
    if constexpr (kWithAlpha) sums.slope += simd::Sum(d, slope);
  }
  return sums;
}

/// The mean of t over the unmasked entries, whose masked neighbours get a p of −0.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE double MarkMasked(D d, const T* z, T* p, size_t n, T max) {
  double sum = 0;
  size_t unmasked = 0;
  for (size_t begin = 0; begin < n; begin += kSumBlock) {
    auto block = hn::Zero(d);
    simd::ForEachVector(d, std::min(kSumBlock, n - begin), [&](size_t i, size_t count) HWY_ATTR {
      const auto masked = hn::Set(d, -std::numeric_limits<T>::infinity());
      const auto v = simd::Load(d, z + begin + i, count, -std::numeric_limits<T>::infinity());
      const auto is_masked = hn::Eq(v, masked);
      unmasked += hn::Lanes(d) - hn::CountTrue(d, is_masked);
      block = hn::Add(block, hn::IfThenZeroElse(is_masked, BelowMax(d, v, hn::Set(d, max))));
      if (hn::AllFalse(d, is_masked)) return;
      const auto marked =
          hn::IfThenElse(is_masked, hn::Set(d, T(-0.0)), simd::Load(d, p + begin + i, count, T(0)));
      simd::Store(d, marked, p + begin + i, count);
    });
    sum += simd::Sum(d, block);
  }
  return sum / static_cast<double>(unmasked);
}

template <class T>
struct RowLoss {
  T value;
  double dalpha;
};

/// The loss of one row whose p is known.
template <class Term, class D, class T = hn::TFromD<D>>
HWY_INLINE RowLoss<T> LossOfRow(D d, const Term& term, double alpha, double smoothing, const T* z,
                                T* p, size_t n, int64_t target, bool with_alpha) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (n == 0) return {0, 0};
  if (p[0] != p[0]) return {p[0], p[0]};  // one NaN makes the whole of p NaN
  const T max = MaxOf(d, z, n);
  if (max == -std::numeric_limits<T>::infinity()) return {0, 0};
  const T epsilon = static_cast<T>(alpha - 1);
  const RowSums sums = with_alpha ? SumOverSupport<true>(d, term, epsilon, z, p, n, max)
                                  : SumOverSupport<false>(d, term, epsilon, z, p, n, max);
  const double entropy = sums.entropy / alpha;
  double value = sums.expected + entropy;
  if (smoothing > 0) value -= smoothing * MarkMasked(d, z, p, n, max);
  // The infinities of a target that has no share of y must not count.
  if (smoothing < 1) {
    const double t = z[target] == max ? 0 : static_cast<double>(z[target]) - max;
    value = t == -kInfinity ? kInfinity : value - (1 - smoothing) * t;
  }
  return {static_cast<T>(value), -(sums.slope + entropy) / alpha};
}

/// Rows solved at once, so that their scores and p are still in the cache for the loss.
inline int64_t RowsAtOnce(int64_t size) {
  return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, size));
}

template <class Term, class T>
void LossRows(const Term& term, Rows shape, const T* z, const int64_t* target, double alpha,
              double smoothing, T* p, T* value, double* dalpha) {
  const hn::ScalableTag<T> d;
  const int64_t most = RowsAtOnce(shape.size);
  for (int64_t first = 0; first < shape.rows;) {
    int64_t last = first;
    while (last < shape.rows && last - first < most && target[last] >= 0) ++last;
    if (last > first) {
      forward(
          {last - first, shape.size, shape.stride, shape.lengths ? shape.lengths + first : nullptr},
          z + first * shape.stride, alpha, p + first * shape.stride);
    }
    for (int64_t r = first; r < last; ++r) {
      const size_t n = static_cast<size_t>(shape.lengths ? shape.lengths[r] : shape.size);
      T* row = p + r * shape.stride;
      const RowLoss<T> result = LossOfRow(d, term, alpha, smoothing, z + r * shape.stride, row, n,
                                          target[r], dalpha != nullptr);
      if (smoothing > 0) {
        for (T* masked = row + n; masked < row + shape.size; ++masked) *masked = T(-0.0);
      }
      value[r] = result.value;
      if (dalpha) dalpha[r] = result.dalpha;
    }
    for (first = last; first < shape.rows && target[first] < 0; ++first) {
      simd::FillZero(p + first * shape.stride, p + first * shape.stride + shape.size);
      value[first] = 0;
      if (dalpha) dalpha[first] = 0;
    }
  }
}

template <class T>
void Loss(Rows shape, const T* z, const int64_t* target, double alpha, double smoothing, T* p,
          T* value, double* dalpha) {
  if (alpha == 1) {
    LossRows(ShannonTerm(), shape, z, target, alpha, smoothing, p, value, dalpha);
  } else if (alpha == 1.5) {
    LossRows(Entmax15Term(), shape, z, target, alpha, smoothing, p, value, dalpha);
  } else if (alpha == 2) {
    LossRows(GiniTerm(), shape, z, target, alpha, smoothing, p, value, dalpha);
  } else {
    LossRows(AnyTerm<T>{static_cast<T>(alpha - 1)}, shape, z, target, alpha, smoothing, p, value,
             dalpha);
  }
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void LossBackwardRow(D d, const T* p, size_t n, int64_t target, double smoothing,
                                T scale, T* dz) {
  const auto zero = hn::Zero(d);
  // Entries with a share of the smoothing: all but those marked by −0.
  size_t unmasked = n;
  auto dead = hn::Eq(zero, zero);
  simd::ForEachVector(d, n, [&](size_t i, size_t count) HWY_ATTR {
    const auto v = simd::Load(d, p + i, count, T(0));
    dead = hn::And(dead, hn::Eq(v, zero));
    if (smoothing > 0) unmasked -= hn::CountTrue(d, HasSign(d, v));
  });
  if (hn::AllTrue(d, dead)) return simd::FillZero(dz, dz + n);
  const T share = static_cast<T>(scale * smoothing / static_cast<double>(unmasked));
  const auto scales = hn::Set(d, scale), shares = hn::Set(d, share);
  simd::ForEachVector(d, n, [&](size_t i, size_t count) HWY_ATTR {
    const auto v = simd::Load(d, p + i, count, T(0));
    const auto taken = hn::IfThenZeroElse(HasSign(d, v), shares);
    simd::Store(d, hn::MulSub(v, scales, taken), dz + i, count);
  });
  dz[target] -= static_cast<T>(scale * (1 - smoothing));
}

template <class T>
void LossBackward(Rows shape, const T* p, const int64_t* target, double smoothing, const T* dvalue,
                  T* dz) {
  const hn::ScalableTag<T> d;
  for (int64_t r = 0; r < shape.rows; ++r) {
    const size_t n = static_cast<size_t>(shape.lengths ? shape.lengths[r] : shape.size);
    T* row = dz + r * shape.stride;
    LossBackwardRow(d, p + r * shape.stride, n, target[r], smoothing, dvalue[r], row);
    simd::FillZero(row + n, row + shape.size);
  }
}

void LossFloat(Rows shape, const float* z, const int64_t* target, double alpha, double smoothing,
               float* p, float* value, double* dalpha) {
  Loss(shape, z, target, alpha, smoothing, p, value, dalpha);
}
void LossDouble(Rows shape, const double* z, const int64_t* target, double alpha, double smoothing,
                double* p, double* value, double* dalpha) {
  Loss(shape, z, target, alpha, smoothing, p, value, dalpha);
}
void LossBackwardFloat(Rows shape, const float* p, const int64_t* target, double smoothing,
                       const float* dvalue, float* dz) {
  LossBackward(shape, p, target, smoothing, dvalue, dz);
}
void LossBackwardDouble(Rows shape, const double* p, const int64_t* target, double smoothing,
                        const double* dvalue, double* dz) {
  LossBackward(shape, p, target, smoothing, dvalue, dz);
}

}  // namespace filigree::entmax_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace filigree::entmax_kernels {

HWY_EXPORT(LossFloat);
HWY_EXPORT(LossDouble);
HWY_EXPORT(LossBackwardFloat);
HWY_EXPORT(LossBackwardDouble);

void loss(Rows shape, const float* z, const int64_t* target, double alpha, double label_smoothing,
          float* p, float* value, double* dalpha) {
  HWY_DYNAMIC_DISPATCH(LossFloat)(shape, z, target, alpha, label_smoothing, p, value, dalpha);
}

void loss(Rows shape, const double* z, const int64_t* target, double alpha, double label_smoothing,
          double* p, double* value, double* dalpha) {
  HWY_DYNAMIC_DISPATCH(LossDouble)(shape, z, target, alpha, label_smoothing, p, value, dalpha);
}

void loss_backward(Rows shape, const float* p, const int64_t* target, double label_smoothing,
                   const float* dvalue, float* dz) {
  HWY_DYNAMIC_DISPATCH(LossBackwardFloat)(shape, p, target, label_smoothing, dvalue, dz);
}

void loss_backward(Rows shape, const double* p, const int64_t* target, double label_smoothing,
                   const double* dvalue, double* dz) {
  HWY_DYNAMIC_DISPATCH(LossBackwardDouble)(shape, p, target, label_smoothing, dvalue, dz);
}

}  // namespace filigree::entmax_kernels
#endif
