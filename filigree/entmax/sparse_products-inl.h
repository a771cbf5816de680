// Matrix products with a block of compressed weights. The forward goes row by row. The backward
// goes key by key: what belongs to a key stays in registers while the rows of the block, which stay
// in the first-level cache, are added to.
#if defined(FILIGREE_ENTMAX_SPARSE_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_ENTMAX_SPARSE_PRODUCTS_INL_H_
#undef FILIGREE_ENTMAX_SPARSE_PRODUCTS_INL_H_
#else
#define FILIGREE_ENTMAX_SPARSE_PRODUCTS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "filigree/entmax/products-inl.h"
#include "filigree/entmax/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::entmax_kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace simd = filigree::simd::HWY_NAMESPACE;

/// Calls part(column, number of vectors as a constant) for parts that cover `vectors` vectors.
template <class D, class Part>
HWY_INLINE void ForEachPart(D d, size_t vectors, Part&& part) {
  const size_t lanes = hn::Lanes(d);
  size_t j = 0;
  for (; kTileVectors == 4 && j + 4 <= vectors; j += 4) {
    part(j * lanes, std::integral_constant<size_t, 2 * (kTileVectors / 2)>());
  }
  for (; j + 2 <= vectors; j += 2) part(j * lanes, std::integral_constant<size_t, 2>());
  if (j < vectors) part(j * lanes, std::integral_constant<size_t, 1>());
}

template <size_t kVectors, class D, class T = hn::TFromD<D>>
HWY_INLINE void LoadRow(D d, const T* row, hn::Vec<D> (&v)[kVectors]) {
  HWY_UNROLL(8)
  for (size_t j = 0; j < kVectors; ++j) v[j] = hn::LoadU(d, row + j * hn::Lanes(d));
}

template <size_t kVectors, class D, class T = hn::TFromD<D>>
HWY_INLINE void StoreRow(D d, const hn::Vec<D> (&v)[kVectors], T* row) {
  HWY_UNROLL(8)
  for (size_t j = 0; j < kVectors; ++j) hn::StoreU(v[j], d, row + j * hn::Lanes(d));
}

/// sum += factor · row
template <size_t kVectors, class D, class T = hn::TFromD<D>>
HWY_INLINE void AddScaled(D d, T factor, const T* row, hn::Vec<D> (&sum)[kVectors]) {
  const auto scale = hn::Set(d, factor);
  HWY_UNROLL(8)
  for (size_t j = 0; j < kVectors; ++j) {
    sum[j] = hn::MulAdd(scale, hn::LoadU(d, row + j * hn::Lanes(d)), sum[j]);
  }
}

/// out = Σ value[e] · row key[e] of `rows`, over n entries.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void WeightedSum(D d, size_t vectors, const T* value, const int32_t* key, size_t n,
                            const T* rows, size_t stride, T* out) {
  ForEachPart(d, vectors, [&](size_t column, auto part) HWY_ATTR {
    constexpr size_t kVectors = decltype(part)::value;
    hn::Vec<D> even[kVectors], odd[kVectors];
    HWY_UNROLL(8)
    for (size_t j = 0; j < kVectors; ++j) even[j] = odd[j] = hn::Zero(d);
    const T* const from = rows + column;
    size_t e = 0;
    for (; e + 2 <= n; e += 2) {
      AddScaled(d, value[e], from + static_cast<size_t>(key[e]) * stride, even);
      AddScaled(d, value[e + 1], from + static_cast<size_t>(key[e + 1]) * stride, odd);
    }
    if (e < n) AddScaled(d, value[e], from + static_cast<size_t>(key[e]) * stride, even);
    HWY_UNROLL(8)
    for (size_t j = 0; j < kVectors; ++j) even[j] = hn::Add(even[j], odd[j]);
    StoreRow(d, even, out + column);
  });
}

/// Entries of a block in the order of their keys: those of key j are begin[j] … begin[j + 1] − 1.
/// Entry e lies in row row[e] and is number slot[e] in the order of rows.
struct KeyOrder {
  const int32_t* begin;
  const int32_t* row;
  const int32_t* slot;
};

#if HWY_TARGET == HWY_SCALAR
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void StoreBlockSum(D d, hn::Vec<D> v, T* out) {
  hn::StoreU(v, d, out);
}
#else
/// The sum of the blocks of v, as wide as one of them.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void StoreBlockSum(D d, hn::Vec<D> v, T* out) {
  if constexpr (hn::MaxLanes(d) <= simd::BlockSize(D())) {
    hn::StoreU(v, d, out);
  } else {
    const hn::Half<D> half;
    StoreBlockSum(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), out);
  }
}
#endif  // HWY_TARGET == HWY_SCALAR

/// The sums of the lanes of each v[0] … v[BlockSize − 1], one after the other.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void StoreSums(D d, hn::Vec<D> (&v)[simd::BlockSize(D())], T* out) {
  simd::TransposeBlocks(d, v);
  hn::Vec<D> sum = v[0];
  for (size_t i = 1; i < simd::BlockSize(D()); ++i) sum = hn::Add(sum, v[i]);
  StoreBlockSum(d, sum, out);
}

/// What one key meets in the backward: product[slot] (+)= ⟨row of `rows`, row j⟩ and gradient row j
/// += Σ value[slot] · row of `rows`.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void ProductsOfKeys(D d, size_t vectors, size_t keys, KeyOrder order, const T* rows,
                               size_t row_stride, const T* value, Matrix<const T> operand,
                               Matrix<T> gradient, T* product) {
  constexpr size_t kBlock = simd::BlockSize(D());
  ForEachPart(d, vectors, [&](size_t column, auto part) HWY_ATTR {
    constexpr size_t kVectors = decltype(part)::value;
    const T* const from = rows + column;
    for (size_t j = 0; j < keys; ++j) {
      const int32_t end = order.begin[j + 1];
      int32_t e = order.begin[j];
      if (e == end) continue;
      hn::Vec<D> fixed[kVectors], sum[kVectors];
      T* const out = gradient.row(j) + column;
      LoadRow(d, operand.row(j) + column, fixed);
      LoadRow(d, out, sum);
      while (e < end) {
        const int32_t count = std::min<int32_t>(end - e, kBlock);
        hn::Vec<D> dot[kBlock];
        HWY_UNROLL(8)
        for (size_t i = 0; i < kBlock; ++i) {
          dot[i] = hn::Zero(d);
          if (static_cast<int32_t>(i) >= count) continue;
          const T* const row = from + static_cast<size_t>(order.row[e + i]) * row_stride;
          const auto scale = hn::Set(d, value[order.slot[e + i]]);
          HWY_UNROLL(8)
          for (size_t k = 0; k < kVectors; ++k) {
            const auto v = hn::LoadU(d, row + k * hn::Lanes(d));
            dot[i] = hn::MulAdd(v, fixed[k], dot[i]);
            sum[k] = hn::MulAdd(scale, v, sum[k]);
          }
        }
        T sums[kBlock];
        StoreSums(d, dot, sums);
        for (int32_t i = 0; i < count; ++i) {
          T& to = product[order.slot[e + i]];
          to = column == 0 ? sums[i] : to + sums[i];
        }
        e += count;
      }
      StoreRow(d, sum, out);
    }
  });
}

/// Gradient row j += Σ value[slot] · row of `rows`, and row of `out` += value[slot] · operand row
/// j.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void SumsOfKeys(D d, size_t vectors, size_t keys, KeyOrder order, const T* rows,
                           size_t row_stride, const T* value, Matrix<const T> operand,
                           Matrix<T> gradient, T* out, size_t out_stride) {
  ForEachPart(d, vectors, [&](size_t column, auto part) HWY_ATTR {
    constexpr size_t kVectors = decltype(part)::value;
    for (size_t j = 0; j < keys; ++j) {
      const int32_t end = order.begin[j + 1];
      int32_t e = order.begin[j];
      if (e == end) continue;
      hn::Vec<D> fixed[kVectors], sum[kVectors];
      T* const to = gradient.row(j) + column;
      LoadRow(d, operand.row(j) + column, fixed);
      LoadRow(d, to, sum);
      for (; e < end; ++e) {
        const auto row = static_cast<size_t>(order.row[e]);
        const T factor = value[order.slot[e]];
        AddScaled(d, factor, rows + row * row_stride + column, sum);
        T* const own = out + row * out_stride + column;
        const auto scale = hn::Set(d, factor);
        HWY_UNROLL(8)
        for (size_t k = 0; k < kVectors; ++k) {
          const size_t at = k * hn::Lanes(d);
          hn::StoreU(hn::MulAdd(scale, fixed[k], hn::LoadU(d, own + at)), d, own + at);
        }
      }
      StoreRow(d, sum, to);
    }
  });
}

}  // namespace filigree::entmax_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
