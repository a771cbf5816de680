// Arrays of any length in whole vectors and one partial vector at the end.
#if defined(FILIGREE_ENTMAX_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_ENTMAX_VECTORS_INL_H_
#undef FILIGREE_ENTMAX_VECTORS_INL_H_
#else
#define FILIGREE_ENTMAX_VECTORS_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace filigree::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A mask with no lane set.
template <class D>
HWY_INLINE hn::Mask<D> NoLanes(D d) {
  return hn::FirstN(d, 0);
}

/// The first `count` lanes from memory and `fill` in the others; reads nothing else.
template <class D, class T>
HWY_INLINE hn::Vec<D> Load(D d, const T* from, size_t count, T fill) {
  if (count == hn::Lanes(d)) return hn::LoadU(d, from);
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN T lanes[hn::MaxLanes(d)];
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = i < count ? from[i] : fill;
  return hn::Load(d, lanes);
#else
  const auto mask = hn::FirstN(d, count);
  return hn::IfThenElse(mask, hn::MaskedLoad(mask, d, from), hn::Set(d, fill));
#endif
}

/// Writes the first `count` lanes and nothing else.
template <class D, class T>
HWY_INLINE void Store(D d, hn::Vec<D> v, T* to, size_t count) {
  if (count == hn::Lanes(d)) return hn::StoreU(v, d, to);
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN T lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  for (size_t i = 0; i < count; ++i) to[i] = lanes[i];
#else
  hn::BlendedStore(v, hn::FirstN(d, count), d, to);
#endif
}

/// body(i, count) for the vectors that cover 0 … n − 1: count lanes from i on.
template <class D, class Body>
HWY_INLINE void ForEachVector(D d, size_t n, Body&& body) {
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) body(i, lanes);
  if (i < n) body(i, n - i);
}

/// Σ terms(i) over whole vectors i, i + lanes, … from 0 up to n. In blocks, because rounding errors
/// grow with the number of additions in a row.
template <class D, class Terms>
HWY_INLINE hn::Vec<D> SumInBlocks(D d, size_t n, Terms&& terms) {
  const size_t lanes = hn::Lanes(d);
  auto sum = hn::Zero(d);
  for (size_t i = 0; i < n;) {
    const size_t end = HWY_MIN(n, i + 32 * lanes);
    auto block = hn::Zero(d);
    for (; i < end; i += lanes) block = hn::Add(block, terms(i));
    sum = hn::Add(sum, block);
  }
  return sum;
}

/// Zeros from `begin` up to `end`.
template <class T>
HWY_INLINE void FillZero(T* begin, T* end) {
  for (; begin < end; ++begin) *begin = 0;
}

/// The sum of all lanes.
template <class D>
HWY_INLINE hn::TFromD<D> Sum(D d, hn::Vec<D> v) {
  return hn::GetLane(hn::SumOfLanes(d, v));
}

}  // namespace filigree::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
