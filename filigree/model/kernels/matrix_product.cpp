#include "filigree/model/kernels/matrix_product.h"

#include <algorithm>
#include <cstring>

#include "filigree/model/kernels/tile_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filigree/model/kernels/matrix_product.cpp"
// The order of these matters.
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "filigree/entmax/transpose-inl.h"
#include "filigree/entmax/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::model::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace simd = filigree::simd::HWY_NAMESPACE;

// A tile of the result is kTileRows rows by up to kTileStrips vectors, held in registers: 16 sums
// of the 32 registers there are with AVX-512 and NEON, 12 of 16 with the others.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM
constexpr size_t kTileRows = 8;
#else
constexpr size_t kTileRows = 6;
#endif
constexpr size_t kTileStrips = 2;
// A tile's strips over this depth fill half of the first-level cache, and the rows of a block at
// this depth a part of the second.
constexpr size_t kDepth = 256;
constexpr size_t kBlockRows = 256;

// Rows of a strip: its depth rounded up to what is transposed at a time.
constexpr size_t kDepthUnit = 4;
size_t RoundUp(size_t depth) { return (depth + kDepthUnit - 1) / kDepthUnit * kDepthUnit; }

// One strip: entry (i, j) to strip[i · lanes + j], zero in the columns that the matrix lacks.
template <class D, class T = hn::TFromD<D>>
void FillStrip(D d, const T* from, size_t row_step, size_t column_step, size_t depth,
               size_t columns, T* HWY_RESTRICT strip) {
  const size_t lanes = hn::Lanes(d);
  if (column_step == 1) {
    for (size_t i = 0; i < depth; ++i) {
      hn::Store(simd::Load(d, from + i * row_step, columns, T(0)), d, strip + i * lanes);
    }
    return;
  }
  if (columns == lanes && depth % kDepthUnit == 0) {
    return simd::RowsToColumns(d, from, column_step, depth, strip);
  }
  HWY_ALIGN T padded[hn::MaxLanes(d) * kDepth];
  const size_t pitch = RoundUp(depth);
  for (size_t j = 0; j < lanes; ++j) {
    T* const row = padded + j * pitch;
    if (j < columns) std::memcpy(row, from + j * column_step, depth * sizeof(T));
    std::fill(row + (j < columns ? depth : 0), row + pitch, T(0));
  }
  simd::RowsToColumns(d, padded, pitch, pitch, strip);
}

// Where the result of a tile goes, and how.
template <typename T>
struct Target {
  T* result;
  size_t step;
  const T* bias;
  const T* where;
  T scale;
  bool add, relu;
};

// Applies change(sum, row, strip) to every sum of a tile.
template <size_t kRows, size_t kStrips, class V, class Change>
HWY_INLINE void ForEachSum(V (&sums)[kRows][kStrips], Change change) {
#pragma GCC unroll 16
  for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (size_t s = 0; s < kStrips; ++s) change(sums[r][s], r, s);
  }
}

// kWhole: `columns` are no fewer than the strips hold.
template <bool kWhole, size_t kRows, size_t kStrips, class D, class T = hn::TFromD<D>>
HWY_INLINE void Store(D d, hn::Vec<D> (&sums)[kRows][kStrips], const Target<T>& target,
                      size_t columns) {
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(d);
  const auto count = [&](size_t s) HWY_ATTR { return HWY_MIN(lanes, columns - s * lanes); };
  const auto load = [&](const T* from, size_t s) HWY_ATTR {
    return kWhole ? hn::LoadU(d, from + s * lanes)
                  : simd::Load(d, from + s * lanes, count(s), T(0));
  };
  if (target.scale != 1) {
    const V scale = hn::Set(d, target.scale);
    ForEachSum(sums, [&](V& sum, size_t, size_t) HWY_ATTR { sum = hn::Mul(sum, scale); });
  }
  if (target.add) {
    ForEachSum(sums, [&](V& sum, size_t r, size_t s) HWY_ATTR {
      sum = hn::Add(sum, load(target.result + r * target.step, s));
    });
  }
  if (target.bias) {
    ForEachSum(
        sums, [&](V& sum, size_t, size_t s) HWY_ATTR { sum = hn::Add(sum, load(target.bias, s)); });
  }
  if (target.relu) {
    ForEachSum(sums, [&](V& sum, size_t, size_t) HWY_ATTR { sum = hn::Max(sum, hn::Zero(d)); });
  }
  if (target.where) {
    ForEachSum(sums, [&](V& sum, size_t r, size_t s) HWY_ATTR {
      const V gate = load(target.where + r * target.step, s);
      sum = hn::IfThenElseZero(hn::Gt(gate, hn::Zero(d)), sum);
    });
  }
  ForEachSum(sums, [&](V& sum, size_t r, size_t s) HWY_ATTR {
    T* const to = target.result + r * target.step + s * lanes;
    kWhole ? hn::StoreU(sum, d, to) : simd::Store(d, sum, to, count(s));
  });
}

template <size_t kRows, size_t kStrips, class D, class T = hn::TFromD<D>>
HWY_INLINE void Tile(D d, const T* HWY_RESTRICT a, size_t row_step, size_t column_step,
                     const T* HWY_RESTRICT b, size_t pitch, size_t depth, const Target<T>& target,
                     size_t columns) {
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(d);
  V sums[kRows][kStrips];
  // The result is fetched while the sums are made: it is read when blocks add up, and a store needs
  // its line too.
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t s = 0; s < kStrips && s * lanes < columns; ++s) {
      hwy::Prefetch(target.result + r * target.step + s * lanes);
    }
  }
  ForEachSum(sums, [&](V& sum, size_t, size_t) HWY_ATTR { sum = hn::Zero(d); });
  for (size_t i = 0; i < depth; ++i) {
    V strips[kStrips];
#pragma GCC unroll 4
    for (size_t s = 0; s < kStrips; ++s) strips[s] = hn::Load(d, b + s * pitch);
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
      const V x = hn::Set(d, a[r * row_step]);
#pragma GCC unroll 4
      for (size_t s = 0; s < kStrips; ++s) sums[r][s] = hn::MulAdd(x, strips[s], sums[r][s]);
    }
    a += column_step;
    b += lanes;
  }
  if (columns >= kStrips * lanes) {
    Store<true>(d, sums, target, columns);
  } else {
    Store<false>(d, sums, target, columns);
  }
}

// `rows` rows of up to kStrips strips, in tiles of kRows and the rest in one of fewer.
template <size_t kRows, size_t kStrips, class D, class T = hn::TFromD<D>>
HWY_INLINE void Tiles(D d, size_t rows, const T* a, size_t row_step, size_t column_step,
                      size_t tile_step, const T* b, size_t pitch, size_t depth, Target<T> target,
                      size_t columns) {
  for (; rows >= kRows; rows -= kRows) {
    Tile<kRows, kStrips>(d, a, row_step, column_step, b, pitch, depth, target, columns);
    a += tile_step;
    target.result += kRows * target.step;
    if (target.where) target.where += kRows * target.step;
  }
  if constexpr (kRows > 1) {
    if (rows > 0) {
      Tiles<kRows - 1, kStrips>(d, rows, a, row_step, column_step, tile_step, b, pitch, depth,
                                target, columns);
    }
  }
}

// Rows of a transposed operand, kTileRows at a time: entry (r, i) to panel[i · kTileRows + r]. A
// few columns at a time, so that memory is read in long runs.
template <typename T>
void FillPanels(const T* HWY_RESTRICT from, size_t column_step, size_t rows, size_t depth,
                T* HWY_RESTRICT to, T* HWY_RESTRICT row_sums) {
  constexpr size_t kColumns = 16;
  for (size_t first = 0; first < depth; first += kColumns) {
    const size_t columns = HWY_MIN(kColumns, depth - first);
    for (size_t begin = 0; begin < rows; begin += kTileRows) {
      const size_t count = HWY_MIN(kTileRows, rows - begin);
      T* HWY_RESTRICT out = to + begin * depth + first * kTileRows;
      const T* HWY_RESTRICT in = from + first * column_step + begin;
      T sums[kTileRows] = {};
      const auto copy = [&](size_t size) HWY_ATTR {
        for (size_t i = 0; i < columns; ++i, in += column_step, out += kTileRows) {
          for (size_t r = 0; r < size; ++r) {
            out[r] = in[r];
            sums[r] += in[r];
          }
        }
      };
      count == kTileRows ? copy(kTileRows) : copy(count);
      if (row_sums) {
        for (size_t r = 0; r < count; ++r) row_sums[begin + r] += sums[r];
      }
    }
  }
}

template <typename T>
void MultiplyOf(const Matrix<T>& a, const T* strips, int64_t columns, T* result, int64_t step,
                const Finish<T>& finish, T* row_sums) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  const auto m = static_cast<size_t>(a.rows), k = static_cast<size_t>(a.columns);
  const auto n = static_cast<size_t>(columns);
  const auto row_step = static_cast<size_t>(a.row_step);
  const auto column_step = static_cast<size_t>(a.column_step);
  const size_t strip_count = (n + lanes - 1) / lanes;
  // A transposed operand is read from one end of memory to the other for every tile unless its
  // rows are gathered; that pays when there are several tiles.
  const bool gather = row_sums || (column_step != 1 && n > kTileStrips * lanes && k > 1);
  hwy::AlignedFreeUniquePtr<T[]> panels;
  if (gather) panels = hwy::AllocateAligned<T>((kBlockRows + kTileRows) * HWY_MIN(k, kDepth));
  for (size_t k0 = 0; k0 < k; k0 += kDepth) {
    const size_t depth = HWY_MIN(kDepth, k - k0), pitch = RoundUp(depth) * lanes;
    const bool last = k0 + depth == k;
    for (size_t i0 = 0; i0 < m; i0 += kBlockRows) {
      const size_t rows = HWY_MIN(kBlockRows, m - i0);
      const T* block = a.data + i0 * row_step + k0 * column_step;
      if (gather) {
        FillPanels(block, column_step, rows, depth, panels.get(),
                   row_sums ? row_sums + i0 : nullptr);
      }
      for (size_t s = 0; s < strip_count; s += kTileStrips) {
        const size_t j0 = s * lanes;
        Target<T> target{
            result + i0 * static_cast<size_t>(step) + j0,
            static_cast<size_t>(step),
            last && finish.bias ? finish.bias + j0 : nullptr,
            last && finish.where ? finish.where + i0 * static_cast<size_t>(step) + j0 : nullptr,
            finish.scale,
            finish.accumulate || k0 > 0,
            last && finish.relu};
        const T* const b = strips + s * pitch;
        const auto tiles = [&](const T* from, size_t row, size_t column, size_t tile) {
          if (strip_count - s >= kTileStrips) {
            Tiles<kTileRows, kTileStrips>(d, rows, from, row, column, tile, b, pitch, depth, target,
                                          n - j0);
          } else {
            Tiles<kTileRows, 1>(d, rows, from, row, column, tile, b, pitch, depth, target, n - j0);
          }
        };
        gather ? tiles(panels.get(), 1, kTileRows, kTileRows * depth)
               : tiles(block, row_step, column_step, kTileRows * row_step);
      }
    }
    strips += strip_count * pitch;
  }
}

template <typename T>
void FillOf(const Matrix<T>& matrix, T* to) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  const auto k = static_cast<size_t>(matrix.rows), n = static_cast<size_t>(matrix.columns);
  const auto row_step = static_cast<size_t>(matrix.row_step);
  const auto column_step = static_cast<size_t>(matrix.column_step);
  for (size_t k0 = 0; k0 < k; k0 += kDepth) {
    const size_t depth = HWY_MIN(kDepth, k - k0);
    for (size_t j = 0; j < n; j += lanes) {
      FillStrip(d, matrix.data + k0 * row_step + j * column_step, row_step, column_step, depth,
                HWY_MIN(lanes, n - j), to);
      to += RoundUp(depth) * lanes;
    }
  }
}

void FillFloat(const Matrix<float>& matrix, float* to) { FillOf(matrix, to); }
void FillDouble(const Matrix<double>& matrix, double* to) { FillOf(matrix, to); }
void MultiplyFloat(const Matrix<float>& a, const float* strips, int64_t columns, float* result,
                   int64_t step, const Finish<float>& finish, float* row_sums) {
  MultiplyOf(a, strips, columns, result, step, finish, row_sums);
}
void MultiplyDouble(const Matrix<double>& a, const double* strips, int64_t columns, double* result,
                    int64_t step, const Finish<double>& finish, double* row_sums) {
  MultiplyOf(a, strips, columns, result, step, finish, row_sums);
}
template <typename T>
int64_t RoomOf(int64_t rows, int64_t columns) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  return (rows + static_cast<int64_t>(kDepthUnit)) * ((columns + lanes - 1) / lanes * lanes);
}
int64_t RoomFloat(int64_t rows, int64_t columns) { return RoomOf<float>(rows, columns); }
int64_t RoomDouble(int64_t rows, int64_t columns) { return RoomOf<double>(rows, columns); }

}  // namespace filigree::model::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace filigree::model {
HWY_EXPORT(FillFloat);
HWY_EXPORT(FillDouble);
HWY_EXPORT(MultiplyFloat);
HWY_EXPORT(MultiplyDouble);
HWY_EXPORT(RoomFloat);
HWY_EXPORT(RoomDouble);

namespace {

int64_t strips_size(const Matrix<float>& m) {
  return HWY_DYNAMIC_DISPATCH(RoomFloat)(m.rows, m.columns);
}
int64_t strips_size(const Matrix<double>& m) {
  return HWY_DYNAMIC_DISPATCH(RoomDouble)(m.rows, m.columns);
}
void fill_strips(const Matrix<float>& matrix, float* to) {
  HWY_DYNAMIC_DISPATCH(FillFloat)(matrix, to);
}
void fill_strips(const Matrix<double>& matrix, double* to) {
  HWY_DYNAMIC_DISPATCH(FillDouble)(matrix, to);
}

}  // namespace

template <typename T>
void Strips<T>::fill(const Matrix<T>& matrix, Precision precision) {
  const bool tiles = sizeof(T) == 4 && has_tile_products(precision);
  precision_ = tiles ? precision : Precision::kFloat32;
  rows_ = matrix.rows;
  columns_ = matrix.columns;
  int64_t room = 0;
  if constexpr (sizeof(T) == 4) {
    if (tiles) room = (tiles_size(matrix, precision) + 1) / 2;
  }
  if (!tiles) room = strips_size(matrix);
  if (room > room_) {
    data_ = hwy::AllocateAligned<T>(static_cast<size_t>(room));
    room_ = room;
  }
  if constexpr (sizeof(T) == 4) {
    if (tiles) return fill_tiles(matrix, precision, reinterpret_cast<uint16_t*>(data_.get()));
  }
  fill_strips(matrix, data_.get());
}

template class Strips<float>;
template class Strips<double>;

template <>
void multiply(const Matrix<float>& a, const Strips<float>& b, float* result, int64_t result_step,
              const Finish<float>& finish, float* row_sums) {
  if (b.precision() != Precision::kFloat32) {
    return multiply_tiles(a, reinterpret_cast<const uint16_t*>(b.data()), b.columns(),
                          b.precision(), result, result_step, finish, row_sums);
  }
  HWY_DYNAMIC_DISPATCH(MultiplyFloat)
  (a, b.data(), b.columns(), result, result_step, finish, row_sums);
}

template <>
void multiply(const Matrix<double>& a, const Strips<double>& b, double* result, int64_t result_step,
              const Finish<double>& finish, double* row_sums) {
  HWY_DYNAMIC_DISPATCH(MultiplyDouble)
  (a, b.data(), b.columns(), result, result_step, finish, row_sums);
}

}  // namespace filigree::model
#endif
