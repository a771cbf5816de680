// From rows of scores straight to the entries with p > 0: rows are packed to their survivors,
// solved there, and what is left is written as keys and values. Nothing but the first pass over the
// scores touches an entry whose p is 0 by the bound.
#if defined(FILIGREE_ENTMAX_SUPPORT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_ENTMAX_SUPPORT_INL_H_
#undef FILIGREE_ENTMAX_SUPPORT_INL_H_
#else
#define FILIGREE_ENTMAX_SUPPORT_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "filigree/entmax/across-inl.h"
#include "filigree/entmax/along-inl.h"
#include "filigree/entmax/solve-inl.h"
#include "filigree/entmax/survivors-inl.h"
#include "filigree/entmax/transpose-inl.h"
#include "filigree/entmax/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::entmax_kernels::HWY_NAMESPACE {

/// 0, 1, … in the lanes: costs a store, so it is made before a loop.
template <class D>
HWY_INLINE auto LaneNumbers(D) {
  const hn::RebindToSigned<D> di;
  return hn::Iota(di, 0);
}

/// first, first + 1, … of the lanes that are set, packed. Writes up to a vector beyond them.
template <class D, class VI>
HWY_INLINE void StorePlaces(D d, hn::Mask<D> mask, size_t first, VI numbers, int32_t* to) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    const hn::RebindToSigned<D> di;
    const auto places = hn::Add(numbers, hn::Set(di, static_cast<int32_t>(first)));
    hn::StoreU(hn::Compress(places, hn::RebindMask(di, mask)), di, to);
  } else {
    for (unsigned bits = MaskBits(d, mask); bits != 0; bits &= bits - 1) {
      *to++ = static_cast<int32_t>(first + hwy::Num0BitsBelowLS1Bit_Nonzero32(bits));
    }
  }
}

/// Those of `from` whose lane is set, packed.
template <class D>
HWY_INLINE void PackPlaces(D d, hn::Mask<D> mask, const int32_t* from, int32_t* to) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    const hn::RebindToSigned<D> di;
    hn::StoreU(hn::Compress(hn::LoadU(di, from), hn::RebindMask(di, mask)), di, to);
  } else {
    for (unsigned bits = MaskBits(d, mask); bits != 0; bits &= bits - 1) {
      *to++ = from[hwy::Num0BitsBelowLS1Bit_Nonzero32(bits)];
    }
  }
}

/// The maximum of a row without NaN; with one, anything.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE T MaxOf(D d, const T* z, size_t n) {
  const size_t lanes = hn::Lanes(d);
  auto max0 = hn::Set(d, -kInfinity<T>), max1 = max0, max2 = max0, max3 = max0;
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    max0 = hn::Max(hn::LoadU(d, z + i), max0);
    max1 = hn::Max(hn::LoadU(d, z + i + lanes), max1);
    max2 = hn::Max(hn::LoadU(d, z + i + 2 * lanes), max2);
    max3 = hn::Max(hn::LoadU(d, z + i + 3 * lanes), max3);
  }
  simd::ForEachVector(d, n - i, [&](size_t k, size_t count) HWY_ATTR {
    max0 = hn::Max(simd::Load(d, z + i + k, count, -kInfinity<T>), max0);
  });
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(max0, max1), hn::Max(max2, max3))));
}

/// How many entries of a row were kept, and whether one of them is NaN.
struct Survivors {
  size_t count;
  bool nan;
};

/// Moves the entries that are not below `lowest`, NaN among them, to the front of the row as
/// scale (z − max), and writes where they were; both go up to a vector beyond them. Four vectors at
/// a time: in long rows most have none, in short ones few have, and the branch can be foreseen.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE Survivors KeepSurvivors(D d, T* z, size_t n, T lowest, T max, T scale, int32_t* places) {
  const size_t lanes = hn::Lanes(d);
  const auto low = hn::Set(d, lowest), shift = hn::Set(d, max), factor = hn::Set(d, scale);
  const auto numbers = LaneNumbers(d);
  auto nan = simd::NoLanes(d);
  size_t count = 0, i = 0;
  const auto add = [&](hn::Vec<D> v, hn::Mask<D> mask, size_t at) HWY_ATTR {
    const auto t = hn::Mul(hn::Sub(v, shift), factor);
    nan = hn::Or(nan, hn::IsNaN(t));
    hn::StoreU(hn::Compress(t, mask), d, z + count);
    StorePlaces(d, mask, at, numbers, places + count);
    count += hn::CountTrue(d, mask);
  };
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    // All are read before what is kept of them is written.
    const auto v0 = hn::LoadU(d, z + i), v1 = hn::LoadU(d, z + i + lanes);
    const auto v2 = hn::LoadU(d, z + i + 2 * lanes), v3 = hn::LoadU(d, z + i + 3 * lanes);
    const auto m0 = hn::Not(hn::Lt(v0, low)), m1 = hn::Not(hn::Lt(v1, low));
    const auto m2 = hn::Not(hn::Lt(v2, low)), m3 = hn::Not(hn::Lt(v3, low));
    if (hn::AllFalse(d, hn::Or(hn::Or(m0, m1), hn::Or(m2, m3)))) continue;
    add(v0, m0, i);
    add(v1, m1, i + lanes);
    add(v2, m2, i + 2 * lanes);
    add(v3, m3, i + 3 * lanes);
  }
  simd::ForEachVector(d, n - i, [&](size_t k, size_t left) HWY_ATTR {
    const auto v = simd::Load(d, z + i + k, left, -kInfinity<T>);
    const auto mask = hn::Not(hn::Lt(v, low));
    add(v, left == lanes ? mask : hn::And(mask, hn::FirstN(d, left)), i + k);
  });
  return {count, !hn::AllFalse(d, nan)};
}

/// Entries that are not 0, with `places` (null: their own positions); returns their number. Writes
/// up to a vector beyond them.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE size_t PackNonzero(D d, const T* p, const int32_t* places, size_t n, T* to,
                              int32_t* to_places) {
  const auto numbers = LaneNumbers(d);
  size_t count = 0;
  simd::ForEachVector(d, n, [&](size_t i, size_t lanes) HWY_ATTR {
    const auto v = simd::Load(d, p + i, lanes, T(0));
    const auto mask = hn::Not(hn::Eq(v, hn::Zero(d)));  // Ne is false for NaN on some targets
    if (hn::AllFalse(d, mask)) return;
    hn::StoreU(hn::Compress(v, mask), d, to + count);
    if (places) {
      PackPlaces(d, mask, places + i, to_places + count);
    } else {
      StorePlaces(d, mask, i, numbers, to_places + count);
    }
    count += hn::CountTrue(d, mask);
  });
  return count;
}

/// Rows of scores, `pitch` apart, of which row r has length(r) entries and room for AlongRoom more.
/// The memory of EntmaxSupport below; all of it is overwritten.
template <class T>
struct SupportScratch {
  T* packed;        ///< kMostAcross + 2 vectors for every lane
  T* columns;       ///< (kMostAcross + a vector) · lanes
  T* slopes;        ///< as columns, and AlongRoom of the longest row
  int32_t* places;  ///< as the scores
};

/// What is known of a row after packing.
enum class RowKind { kAcross, kAlong, kOdd };

/// α-entmax with 1 < α ≤ 2 of the rows, which are overwritten, as are those that follow up to a
/// whole number of vectors. Writes the entries that are not 0 to value and key, row after row, and
/// begin[r] … begin[rows]. A row is solved in a way that depends on nothing but itself.
template <class Transform, class D, class T = hn::TFromD<D>>
class EntmaxSupport {
 public:
  EntmaxSupport(D d, const Transform& transform, T scale, T* z, size_t pitch,
                const int32_t* lengths, SupportScratch<T> scratch)
      : d_(d),
        transform_(transform),
        scale_(scale),
        z_(z),
        pitch_(pitch),
        lengths_(lengths),
        scratch_(scratch) {}

  /// count ≤ kMostRows rows; `begin` has begin[0] set.
  HWY_INLINE void Solve(size_t rows, int32_t* begin, T* value, int32_t* key) {
    for (size_t r = 0; r < rows; ++r) Pack(r);
    Groups<2>(d_, 0, rows, begin, value, key);
  }

  static constexpr size_t kMostRows = 64;

 private:
  HWY_INLINE void Pack(size_t r) {
    T* const row = z_ + r * pitch_;
    const size_t n = static_cast<size_t>(lengths_[r]);
    int32_t* const places = scratch_.places + r * pitch_;
    const T max = max_[r] = MaxOf(d_, row, n);
    kind_[r] = RowKind::kOdd;
    kept_[r] = n;
    if (!(std::abs(max) < kInfinity<T>)) {
      max_[r] = MaxOrNan(d_, row, n);
      return;
    }
    // The bound of survivors-inl.h on the scores as they are, rounded down.
    constexpr T kRounding = 4 * std::numeric_limits<T>::epsilon();
    const T reach = T(1) / (transform_.epsilon() * scale_);
    const T lowest = max - reach - kRounding * (reach + std::abs(max));
    const Survivors kept = KeepSurvivors(d_, row, n, lowest, max, scale_, places);
    if (kept.nan) {
      max_[r] = std::numeric_limits<T>::quiet_NaN();
      return;
    }
    kept_[r] = kept.count;
    kind_[r] = kept_[r] <= kMostAcross ? RowKind::kAcross : RowKind::kAlong;
  }

  // As in forward.cpp: what is left over goes to narrower vectors.
  template <int kHalvings, class G>
  HWY_INLINE void Groups(G group, size_t first, size_t rows, int32_t* begin, T* value,
                         int32_t* key) {
    const size_t lanes = hn::Lanes(group);
    while (rows > (kHalvings > 0 ? lanes / 2 : 0)) {
      const size_t count = std::min(rows, lanes);
      Group(group, first, count, begin, value, key);
      first += count;
      rows -= count;
    }
    if constexpr (kHalvings > 0) {
      if (rows == 0) return;
      const hn::CappedTag<T, HWY_MAX(hn::MaxLanes(group) / 2, 1)> half;
      Groups<kHalvings - 1>(half, first, rows, begin, value, key);
    }
  }

  template <class G>
  HWY_INLINE void Group(G group, size_t first, size_t rows, int32_t* begin, T* value,
                        int32_t* key) {
    const size_t lanes = hn::Lanes(group), across_pitch = kMostAcross + 2 * hn::Lanes(d_);
    size_t longest = 0;
    for (size_t r = 0; r < rows; ++r) {
      if (kind_[first + r] == RowKind::kAcross) longest = std::max(longest, kept_[first + r]);
    }
    const size_t depth = AcrossDepth(group, longest);
    if (depth > 0) {
      // The lanes of rows of another kind hold whatever these begin with.
      for (size_t r = 0; r < lanes; ++r) {
        if (r < rows && kind_[first + r] != RowKind::kAcross) continue;
        T* const t = z_ + (first + r) * pitch_;
        for (size_t i = r < rows ? kept_[first + r] : 0; i < depth; i += lanes) {
          hn::StoreU(hn::Set(group, -kInfinity<T>), group, t + i);
        }
      }
      simd::RowsToColumns(group, z_ + first * pitch_, pitch_, depth, scratch_.columns);
      Fetch nothing(z_, 0, z_, 0);
      ReplaceByP(group, transform_, scratch_.columns, depth * lanes, scratch_.slopes, nothing,
                 [](hn::Vec<G> v) { return v; });
      simd::ColumnsToRows(group, scratch_.columns, depth, scratch_.packed, across_pitch);
    }
    for (size_t r = 0; r < rows; ++r) {
      const size_t at = first + r;
      const T* p = scratch_.packed + r * across_pitch;
      const int32_t* places = scratch_.places + at * pitch_;
      if (kind_[at] != RowKind::kAcross) {
        T* const row = z_ + at * pitch_;
        if (kind_[at] == RowKind::kAlong) {
          Along(row, kept_[at]);
        } else {
          OddRow(row, kept_[at], max_[at], row);
          places = nullptr;
        }
        p = row;
      }
      const auto from = static_cast<size_t>(begin[at]);
      const size_t count = PackNonzero(d_, p, places, kept_[at], value + from, key + from);
      begin[at + 1] = static_cast<int32_t>(from + count);
    }
  }

  HWY_INLINE void Along(T* t, size_t count) {
    const size_t lanes = hn::Lanes(d_);
    hn::StoreU(hn::Set(d_, -kInfinity<T>), d_, t + count);
    hn::StoreU(hn::Set(d_, -kInfinity<T>), d_, t + count + lanes);
    const size_t end = (count + 2 * lanes - 1) / (2 * lanes) * (2 * lanes);
    const D d = d_;
    Fetch nothing(t, 0, t, 0);
    ReplaceByP(d, transform_, t, end, scratch_.slopes, nothing,
               [d](hn::Vec<D> v) HWY_ATTR { return hn::SumOfLanes(d, v); });
  }

  D d_;
  const Transform& transform_;
  T scale_;
  T* z_;
  size_t pitch_;
  const int32_t* lengths_;
  SupportScratch<T> scratch_;
  size_t kept_[kMostRows];
  T max_[kMostRows];
  RowKind kind_[kMostRows];
};

}  // namespace filigree::entmax_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
