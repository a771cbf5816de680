// Operands of attention in the shape that the vector kernels want.
#if defined(FILIGREE_ENTMAX_OPERANDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_ENTMAX_OPERANDS_INL_H_
#undef FILIGREE_ENTMAX_OPERANDS_INL_H_
#else
#define FILIGREE_ENTMAX_OPERANDS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "filigree/entmax/products-inl.h"
#include "filigree/entmax/sparse_attention.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::entmax_kernels::HWY_NAMESPACE {

/// The matrix itself if its width is in whole vectors, else a copy with zeros up to them.
template <class D, class T = hn::TFromD<D>>
Matrix<const T> InVectors(D d, Matrix<const T> matrix, int64_t rows, int64_t width, Room<T>& room) {
  const auto padded = static_cast<int64_t>(PaddedWidth(d, static_cast<size_t>(width)));
  if (padded == width) return matrix;
  T* const copy = room.at_least(rows * padded);
  for (int64_t r = 0; r < rows; ++r) {
    std::copy_n(matrix.row(r), width, copy + r * padded);
    std::fill(copy + r * padded + width, copy + (r + 1) * padded, T(0));
  }
  return {copy, padded};
}

/// The transpose, for products of rows with all of these rows.
template <class D, class T = hn::TFromD<D>>
Vectors<T> TransposedKeys(D d, Matrix<const T> matrix, int64_t rows, int64_t width, Room<T>& room) {
  const size_t count = static_cast<size_t>(rows), size = static_cast<size_t>(width);
  const size_t spare = hn::Lanes(d) * PaddedWidth(d, size);
  const size_t whole = TransposedSize(d, count, size);
  T* const memory = room.at_least(static_cast<int64_t>(spare + whole));
  return Transpose(d, matrix.data, static_cast<size_t>(matrix.stride), count, size, memory + whole,
                   memory);
}

/// How far apart rows of dense weights lie: whole vectors, and in long rows no power of two, of
/// which caches hold only a few.
template <class D>
int64_t DensePitch(D d, int64_t keys) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t vectors = std::max<int64_t>(1, (keys + lanes - 1) / lanes);
  return (vectors < 8 ? vectors : vectors | 1) * lanes;
}

/// How far apart rows of scores lie that are packed in place: the same with room for a solver's
/// padding.
template <class D>
int64_t ScorePitch(D d, int64_t keys) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  return ((keys + lanes - 1) / lanes + 3) / 2 * 2 * lanes + lanes;
}

/// Rows of scores that are computed at a time, so that they stay in the second-level cache: a
/// multiple of the lanes of any vector.
inline int64_t RowsInCache(int64_t pitch) {
  constexpr int64_t kEntries = 128 * 1024, kStep = 16;
  return std::clamp(kEntries / pitch / kStep * kStep, kStep, kBlockQueries);
}

}  // namespace filigree::entmax_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
