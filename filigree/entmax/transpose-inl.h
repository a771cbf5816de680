// Between rows in memory and vectors that hold one entry of every row.
#if defined(FILIGREE_ENTMAX_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_ENTMAX_TRANSPOSE_INL_H_
#undef FILIGREE_ENTMAX_TRANSPOSE_INL_H_
#else
#define FILIGREE_ENTMAX_TRANSPOSE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace filigree::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Entries that are transposed together: what fits into 128 bits.
template <class D>
constexpr size_t BlockSize(D d) {
  return HWY_MIN(16 / sizeof(hn::TFromD<D>), hn::MaxLanes(d));
}

#if HWY_TARGET == HWY_SCALAR
template <class D, class T>
HWY_INLINE hn::Vec<D> LoadBlocks(D d, const T* from, size_t) {
  return hn::LoadU(d, from);
}
template <class D, class T>
HWY_INLINE void StoreBlocks(D d, hn::Vec<D> v, T* to, size_t) {
  hn::StoreU(v, d, to);
}
template <class D, class V>
HWY_INLINE void TransposeBlocks(D, V*) {}
#else

/// Blocks from `from`, `stride` entries apart, side by side in one vector.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadBlocks(D d, const T* from, size_t stride) {
  if constexpr (hn::MaxLanes(d) <= BlockSize(D())) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    const size_t blocks = hn::Lanes(half) / BlockSize(D());
    return hn::Combine(d, LoadBlocks(half, from + blocks * stride, stride),
                       LoadBlocks(half, from, stride));
  }
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void StoreBlocks(D d, hn::Vec<D> v, T* to, size_t stride) {
  if constexpr (hn::MaxLanes(d) <= BlockSize(D())) {
    hn::StoreU(v, d, to);
  } else {
    const hn::Half<D> half;
    const size_t blocks = hn::Lanes(half) / BlockSize(D());
    StoreBlocks(half, hn::LowerHalf(half, v), to, stride);
    StoreBlocks(half, hn::UpperHalf(half, v), to + blocks * stride, stride);
  }
}

/// Transposes the square that vectors v[0] … v[BlockSize − 1] hold in each block.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void TransposeBlocks(D d, V* v) {
  if constexpr (BlockSize(D()) == 4) {
    const V a = hn::InterleaveLower(d, v[0], v[2]), b = hn::InterleaveLower(d, v[1], v[3]);
    const V e = hn::InterleaveUpper(d, v[0], v[2]), f = hn::InterleaveUpper(d, v[1], v[3]);
    v[0] = hn::InterleaveLower(d, a, b);
    v[1] = hn::InterleaveUpper(d, a, b);
    v[2] = hn::InterleaveLower(d, e, f);
    v[3] = hn::InterleaveUpper(d, e, f);
  } else if constexpr (BlockSize(D()) == 2) {
    const V a = hn::InterleaveLower(d, v[0], v[1]);
    v[1] = hn::InterleaveUpper(d, v[0], v[1]);
    v[0] = a;
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

/// Entry i of row r, at rows[r · stride + i], to columns[i · lanes + r], for Lanes(d) rows and
/// i < n. n is a multiple of BlockSize(d).
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void RowsToColumns(D d, const T* HWY_RESTRICT rows, size_t stride, size_t n,
                              T* HWY_RESTRICT columns) {
  constexpr size_t kBlock = BlockSize(D());
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < n; i += kBlock) {
    hn::Vec<D> v[kBlock];
    for (size_t r = 0; r < kBlock; ++r) {
      v[r] = LoadBlocks(d, rows + r * stride + i, kBlock * stride);
    }
    TransposeBlocks(d, v);
    for (size_t k = 0; k < kBlock; ++k) hn::Store(v[k], d, columns + (i + k) * lanes);
  }
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void ColumnsToRows(D d, const T* HWY_RESTRICT columns, size_t n, T* HWY_RESTRICT rows,
                              size_t stride) {
  constexpr size_t kBlock = BlockSize(D());
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < n; i += kBlock) {
    hn::Vec<D> v[kBlock];
    for (size_t k = 0; k < kBlock; ++k) v[k] = hn::Load(d, columns + (i + k) * lanes);
    TransposeBlocks(d, v);
    for (size_t r = 0; r < kBlock; ++r) {
      StoreBlocks(d, v[r], rows + r * stride + i, kBlock * stride);
    }
  }
}

}  // namespace filigree::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
