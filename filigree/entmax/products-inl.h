// Dense matrix products for operands that lie in the caches: tiles of the result stay in registers
// while one operand is used in vectors and the entries of the other one at a time. Attention of
// sentences is made of products too small for a BLAS, whose calls cost more than the work.
#if defined(FILIGREE_ENTMAX_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_ENTMAX_PRODUCTS_INL_H_
#undef FILIGREE_ENTMAX_PRODUCTS_INL_H_
#else
#define FILIGREE_ENTMAX_PRODUCTS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "filigree/entmax/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::entmax_kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace simd = filigree::simd::HWY_NAMESPACE;

/// The operand whose entry (i, k) is data[i · row + k · column].
template <class T>
struct Entries {
  const T* data;
  size_t row, column;
};

/// The operand of which vector j of row k begins at data[k · row + j · vector].
template <class T>
struct Vectors {
  const T* data;
  size_t row, vector;
};

/// A tile has 6 rows of as many vectors as leave registers for the operands.
#if (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3) || HWY_ARCH_ARM_A64
inline constexpr size_t kTileVectors = 4;
#else
inline constexpr size_t kTileVectors = 2;
#endif

/// c (+)= a b for kRows rows and kVectors vectors.
template <size_t kRows, size_t kVectors, class D, class T = hn::TFromD<D>>
HWY_INLINE void MultiplyTile(D d, Entries<T> a, size_t depth, Vectors<T> b, bool add,
                             T* HWY_RESTRICT c, size_t c_row) {
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(d);
  V sum[kRows][kVectors];
  HWY_UNROLL(8)
  for (size_t i = 0; i < kRows; ++i) {
    HWY_UNROLL(8)
    for (size_t j = 0; j < kVectors; ++j) {
      sum[i][j] = add ? hn::LoadU(d, c + i * c_row + j * lanes) : hn::Zero(d);
    }
  }
  for (size_t k = 0; k < depth; ++k) {
    V row[kVectors];
    HWY_UNROLL(8)
    for (size_t j = 0; j < kVectors; ++j) {
      row[j] = hn::LoadU(d, b.data + k * b.row + j * b.vector);
    }
    HWY_UNROLL(8)
    for (size_t i = 0; i < kRows; ++i) {
      const V entry = hn::Set(d, a.data[i * a.row + k * a.column]);
      HWY_UNROLL(8)
      for (size_t j = 0; j < kVectors; ++j) sum[i][j] = hn::MulAdd(entry, row[j], sum[i][j]);
    }
  }
  HWY_UNROLL(8)
  for (size_t i = 0; i < kRows; ++i) {
    HWY_UNROLL(8)
    for (size_t j = 0; j < kVectors; ++j) {
      hn::StoreU(sum[i][j], d, c + i * c_row + j * lanes);
    }
  }
}

/// All rows, kVectors vectors.
template <size_t kVectors, class D, class T = hn::TFromD<D>>
HWY_NOINLINE void MultiplyPanel(D d, size_t rows, Entries<T> a, size_t depth, Vectors<T> b,
                                bool add, T* HWY_RESTRICT c, size_t c_row) {
  const auto tiles = [&](auto tile_rows) HWY_ATTR {
    constexpr size_t kRows = decltype(tile_rows)::value;
    for (; rows >= kRows; rows -= kRows) {
      MultiplyTile<kRows, kVectors>(d, a, depth, b, add, c, c_row);
      a.data += kRows * a.row;
      c += kRows * c_row;
    }
  };
  tiles(std::integral_constant<size_t, 6>());
  tiles(std::integral_constant<size_t, 4>());
  tiles(std::integral_constant<size_t, 2>());
  tiles(std::integral_constant<size_t, 1>());
}

/// c (+)= a b, where a has `rows` rows and `depth` columns and b `vectors` vectors a row. The order
/// of the additions of an entry does not depend on what is around it.
template <class D, class T = hn::TFromD<D>>
void Multiply(D d, size_t rows, size_t vectors, size_t depth, Entries<T> a, Vectors<T> b, bool add,
              T* c, size_t c_row) {
  constexpr size_t kDepth = 128;  // rows of a panel of b stay in the first-level cache
  const size_t lanes = hn::Lanes(d);
  size_t k = 0;
  do {
    const size_t part = std::min(depth - k, kDepth);
    for (size_t j = 0; j < vectors;) {
      const Vectors<T> panel{b.data + k * b.row + j * b.vector, b.row, b.vector};
      const Entries<T> entries{a.data + k * a.column, a.row, a.column};
      const size_t left = vectors - j;
      if (left >= 4 && kTileVectors == 4) {
        MultiplyPanel<kTileVectors>(d, rows, entries, part, panel, add, c + j * lanes, c_row);
        j += 4;
      } else if (left >= 2) {
        MultiplyPanel<2>(d, rows, entries, part, panel, add, c + j * lanes, c_row);
        j += 2;
      } else {
        MultiplyPanel<1>(d, rows, entries, part, panel, add, c + j * lanes, c_row);
        j += 1;
      }
    }
    k += part;
    add = true;
  } while (k < depth);
}

/// Rows in whole vectors.
template <class D>
HWY_INLINE size_t PaddedWidth(D d, size_t width) {
  return (width + hn::Lanes(d) - 1) / hn::Lanes(d) * hn::Lanes(d);
}

/// Elements that the transpose of a matrix with `rows` rows takes.
template <class D>
HWY_INLINE size_t TransposedSize(D d, size_t rows, size_t width) {
  return PaddedWidth(d, rows) * PaddedWidth(d, width);
}

/// The transpose in panels of a vector: entry k of row j · lanes + l is at out[j · panel + k ·
/// lanes + l], panel = lanes · PaddedWidth(width). Rows are padded to whole vectors, `stride`
/// apart; those beyond the last are 0. spare: room for lanes · PaddedWidth(width).
template <class D, class T = hn::TFromD<D>>
Vectors<T> Transpose(D d, const T* rows, size_t stride, size_t count, size_t width, T* spare,
                     T* out) {
  const size_t lanes = hn::Lanes(d), padded = PaddedWidth(d, width), panel = lanes * padded;
  for (size_t j = 0; j * lanes < count; ++j) {
    const size_t left = count - j * lanes;
    const T* from = rows + j * lanes * stride;
    size_t from_stride = stride;
    if (left < lanes) {
      for (size_t r = 0; r < lanes; ++r) {
        for (size_t k = 0; k < padded; k += lanes) {
          const auto v = r < left ? hn::LoadU(d, from + r * stride + k) : hn::Zero(d);
          hn::StoreU(v, d, spare + r * padded + k);
        }
      }
      from = spare;
      from_stride = padded;
    }
    simd::RowsToColumns(d, from, from_stride, padded, out + j * panel);
  }
  return {out, lanes, panel};
}

}  // namespace filigree::entmax_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
