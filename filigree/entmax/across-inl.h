// Short rows, a row to a lane: no sums across lanes, no scalar powers, no lane idle because a row
// is shorter than a vector. Attention rows are of this kind. What a lane computes depends on
// nothing but its row, whatever the number of lanes.
#if defined(FILIGREE_ENTMAX_ACROSS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_ENTMAX_ACROSS_INL_H_
#undef FILIGREE_ENTMAX_ACROSS_INL_H_
#else
#define FILIGREE_ENTMAX_ACROSS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "filigree/entmax/kernels.h"
#include "filigree/entmax/solve-inl.h"
#include "filigree/entmax/survivors-inl.h"
#include "filigree/entmax/transforms-inl.h"
#include "filigree/entmax/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::entmax_kernels::HWY_NAMESPACE {

/// The longest row for which a block of rows stays in the first-level cache.
inline constexpr int64_t kMostAcross = 256;

/// Rows to be solved across the lanes.
template <class D, class T = hn::TFromD<D>>
struct AcrossBlock {
  static constexpr size_t kLanes = hn::MaxLanes(D());

  Rows shape;
  const T* z;
  T* p;
  HWY_ALIGN T max[kLanes] = {};
  bool odd[kLanes] = {};  ///< has no finite maximum, or NaN

  size_t rows() const { return static_cast<size_t>(shape.rows); }
  size_t length(size_t r) const {
    return static_cast<size_t>(shape.lengths ? shape.lengths[r] : shape.size);
  }
  const T* scores(size_t r) const { return z + static_cast<int64_t>(r) * shape.stride; }
  T* weights(size_t r) const { return p + static_cast<int64_t>(r) * shape.stride; }
  T scale() const { return static_cast<T>(shape.scale); }
};

/// Writes the odd rows, and what is reported of all.
template <class Transform, class D, class T = hn::TFromD<D>>
HWY_INLINE void Report(D d, const Transform& transform, const AcrossBlock<D>& block,
                       const Solution<D>& solution, T* tau, int64_t* support) {
  HWY_ALIGN T theta[hn::MaxLanes(d)], count[hn::MaxLanes(d)];
  hn::Store(solution.theta, d, theta);
  hn::Store(solution.support, d, count);
  for (size_t r = 0; r < block.rows(); ++r) {
    RowResult result;
    if (block.odd[r]) {
      const size_t n = block.length(r);
      T* const row = block.weights(r);
      result = OddRow(block.scores(r), n, block.max[r], row);
      simd::FillZero(row + n, row + block.shape.size);
    } else {
      result = {transform.Tau(theta[r], block.max[r] * block.scale(), r),
                static_cast<int64_t>(count[r])};
    }
    if (tau) tau[r] = static_cast<T>(result.tau);
    if (support) support[r] = result.support;
  }
}

/// Entries of a lane: a whole number of blocks to transpose, and an even one.
template <class D>
constexpr size_t AcrossDepth(D d, size_t entries) {
  const size_t block = HWY_MAX(simd::BlockSize(d), 2);
  return (entries + block - 1) / block * block;
}

/// The rows with all their entries, for sizes up to kMostWhole.
template <class Transform, class D, class T = hn::TFromD<D>>
HWY_INLINE Solution<D> SolveWhole(D d, const Transform& transform, AcrossBlock<D>& block,
                                  Fetch& fetch) {
  constexpr size_t kLanes = hn::MaxLanes(d), kRoom = (kMostWhole + kLanes) * kLanes;
  HWY_ALIGN T rows[kRoom], columns[kRoom], slopes[kRoom];
  const size_t lanes = hn::Lanes(d);
  const auto size = static_cast<size_t>(block.shape.size);
  const size_t depth = AcrossDepth(d, HWY_MAX(size, 1)), pitch = VectorsFor(d, depth) * lanes;
  for (size_t r = 0; r < lanes; ++r) {
    const bool used = r < block.rows();
    const size_t n = used ? block.length(r) : 0;
    for (size_t i = 0; i < pitch; i += lanes) {
      const size_t count = i < n ? HWY_MIN(n - i, lanes) : 0;
      const T* const from = used ? block.scores(r) + i : block.z;
      hn::Store(simd::Load(d, from, count, used ? -kInfinity<T> : T(0)), d, rows + r * pitch + i);
    }
  }
  simd::RowsToColumns(d, rows, pitch, depth, columns);

  const size_t end = depth * lanes;
  auto even = hn::Set(d, -kInfinity<T>), uneven = even;
  for (size_t i = 0; i < end; i += 2 * lanes) {
    even = hn::Max(hn::Load(d, columns + i), even);
    uneven = hn::Max(hn::Load(d, columns + i + lanes), uneven);
  }
  const auto max = hn::Max(even, uneven), scale = hn::Set(d, block.scale());
  // NaN, +inf and an empty row all end as NaN here.
  auto sum = hn::Zero(d);
  for (size_t i = 0; i < end; i += lanes) {
    const auto t = hn::Mul(hn::Sub(hn::Load(d, columns + i), max), scale);
    sum = hn::Add(sum, t);
    hn::Store(t, d, columns + i);
  }
  const auto odd = hn::IsNaN(sum);
  hn::Store(max, d, block.max);
  if (!hn::AllFalse(d, odd)) {
    for (size_t i = 0; i < end; i += lanes) {
      const auto t = hn::Load(d, columns + i);
      hn::Store(hn::IfThenElse(odd, hn::Set(d, -kInfinity<T>), t), d, columns + i);
    }
    for (size_t r = 0; r < block.rows(); ++r) {
      block.odd[r] = MaskBits(d, odd) >> r & 1;
      if (block.odd[r]) block.max[r] = MaxOrNan(d, block.scores(r), block.length(r));
    }
  }

  const auto solution =
      ReplaceByP(d, transform, columns, end, slopes, fetch, [](hn::Vec<D> v) { return v; });
  simd::ColumnsToRows(d, columns, depth, rows, pitch);
  for (size_t r = 0; r < block.rows(); ++r) {
    if (block.odd[r]) continue;
    simd::ForEachVector(d, size, [&](size_t i, size_t count) HWY_ATTR {
      simd::Store(d, hn::Load(d, rows + r * pitch + i), block.weights(r) + i, count);
    });
  }
  return solution;
}

/// The rows packed to their survivors.
template <class Transform, class D, class T = hn::TFromD<D>>
HWY_INLINE Solution<D> SolvePacked(D d, const Transform& transform, AcrossBlock<D>& block,
                                   Fetch& fetch) {
  constexpr size_t kLanes = hn::MaxLanes(d), kRoom = (kMostAcross + kLanes) * kLanes;
  HWY_ALIGN T packed[kRoom], columns[kRoom], slopes[kRoom];
  KeepBits keep[kMostAcross + kLanes];
  size_t kept[kLanes] = {};
  const size_t lanes = hn::Lanes(d);
  const size_t words = VectorsFor(d, static_cast<size_t>(block.shape.size));
  const size_t pitch = (words + 1) * lanes;

  size_t longest = 0;
  for (size_t r = 0; r < block.rows(); ++r) {
    const T* const row = block.scores(r);
    block.max[r] = MaxOrNan(d, row, block.length(r));
    block.odd[r] = !(std::abs(block.max[r]) < kInfinity<T>);
    if (block.odd[r]) continue;
    kept[r] = Compact(d, row, block.length(r), block.max[r], block.scale(), transform.epsilon(r),
                      packed + r * pitch, keep + r * words);
    longest = std::max(longest, kept[r]);
  }
  const size_t depth = AcrossDepth(d, longest);
  for (size_t r = 0; r < lanes; ++r) {
    for (size_t i = kept[r]; i < depth; i += lanes) {
      hn::StoreU(hn::Set(d, -kInfinity<T>), d, packed + r * pitch + i);
    }
  }
  simd::RowsToColumns(d, packed, pitch, depth, columns);
  const auto solution = ReplaceByP(d, transform, columns, depth * lanes, slopes, fetch,
                                   [](hn::Vec<D> v) { return v; });
  simd::ColumnsToRows(d, columns, depth, packed, pitch);
  for (size_t r = 0; r < block.rows(); ++r) {
    if (block.odd[r]) continue;
    T* const row = block.weights(r);
    const size_t n = block.length(r);
    Expand(d, packed + r * pitch, keep + r * words, n, row);
    simd::FillZero(row + n, row + block.shape.size);
  }
  return solution;
}

/// α-entmax with ε ≤ 1 of at most Lanes(d) rows of at most kMostAcross entries. `left`: how many
/// rows follow in the caller's block.
template <class Transform, class D, class T = hn::TFromD<D>>
HWY_INLINE void EntmaxAcross(D d, const Transform& transform, Rows shape, int64_t left, const T* z,
                             T* p, T* tau, int64_t* support) {
  const auto extent = static_cast<size_t>(shape.rows * shape.stride);
  const auto next = static_cast<size_t>(std::min(shape.rows, left) * shape.stride);
  Fetch fetch(z + extent, next, p, extent);
  AcrossBlock<D> block{shape, z, p};
  const bool whole = static_cast<size_t>(shape.size) <= transform.most_whole();
  const Solution<D> solution =
      whole ? SolveWhole(d, transform, block, fetch) : SolvePacked(d, transform, block, fetch);
  Report(d, transform, block, solution, tau, support);
}

}  // namespace filigree::entmax_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
