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

/// α-entmax with ε ≤ 1 of at most Lanes(d) rows of at most kMostAcross entries. `left`: how many
/// rows follow in the caller's block.
template <class Transform, class D, class T = hn::TFromD<D>>
HWY_INLINE void EntmaxAcross(D d, const Transform& transform, Rows shape, int64_t left, const T* z,
                             T* p, T* tau, int64_t* support) {
  constexpr size_t kLanes = hn::MaxLanes(d), kRoom = (kMostAcross + kLanes) * kLanes;
  HWY_ALIGN T packed[kRoom], columns[kRoom], slopes[kRoom];
  KeepBits keep[kMostAcross + kLanes];
  HWY_ALIGN T max[kLanes] = {};
  size_t kept[kLanes] = {};
  const size_t lanes = hn::Lanes(d);
  const T scale = static_cast<T>(shape.scale);
  const size_t rows = static_cast<size_t>(shape.rows);
  const size_t words = VectorsFor(d, static_cast<size_t>(shape.size));
  const size_t pitch = (words + 1) * lanes;
  const auto length = [&](size_t r) {
    return static_cast<size_t>(shape.lengths ? shape.lengths[r] : shape.size);
  };

  size_t longest = 0;
  for (size_t r = 0; r < rows; ++r) {
    const T* row = z + r * shape.stride;
    max[r] = MaxOrNan(d, row, length(r));
    if (!(std::abs(max[r]) < kInfinity<T>)) continue;
    kept[r] = Compact(d, row, length(r), max[r], scale, transform.epsilon(r), packed + r * pitch,
                      keep + r * words);
    longest = std::max(longest, kept[r]);
  }
  // A whole number of blocks and an even number of entries; the rest of each lane is −inf.
  constexpr size_t kBlock = HWY_MAX(simd::BlockSize(D()), 2);
  const size_t depth = (longest + kBlock - 1) / kBlock * kBlock;
  for (size_t r = 0; r < lanes; ++r) {
    for (size_t i = kept[r]; i < depth; i += lanes) {
      hn::StoreU(hn::Set(d, -kInfinity<T>), d, packed + r * pitch + i);
    }
  }
  simd::RowsToColumns(d, packed, pitch, depth, columns);

  const size_t extent = rows * static_cast<size_t>(shape.stride);
  const size_t next = std::min(rows, static_cast<size_t>(left)) * static_cast<size_t>(shape.stride);
  Fetch fetch(z + extent, next, p, extent);
  const auto solution = ReplaceByP(d, transform, columns, depth * lanes, slopes, fetch,
                                   [](hn::Vec<D> v) { return v; });
  simd::ColumnsToRows(d, columns, depth, packed, pitch);

  HWY_ALIGN T lane_theta[kLanes], lane_count[kLanes];
  hn::Store(solution.theta, d, lane_theta);
  hn::Store(solution.support, d, lane_count);
  for (size_t r = 0; r < rows; ++r) {
    T* row = p + r * shape.stride;
    const size_t n = length(r);
    RowResult result;
    if (kept[r] == 0) {
      result = OddRow(z + r * shape.stride, n, max[r], row);
    } else {
      Expand(d, packed + r * pitch, keep + r * words, n, row);
      result = {transform.Tau(lane_theta[r], max[r] * scale, r),
                static_cast<int64_t>(lane_count[r])};
    }
    simd::FillZero(row + n, row + shape.size);
    if (tau) tau[r] = static_cast<T>(result.tau);
    if (support) support[r] = result.support;
  }
}

}  // namespace filigree::entmax_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
