// Highway compiles this file once per instruction set: foreach_target.h includes it again with
// HWY_NAMESPACE and the compiler's target changed, and the first call picks the best that the
// processor has.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filigree/entmax/forward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <functional>

#include "filigree/entmax/across-inl.h"
#include "filigree/entmax/along-inl.h"
#include "filigree/entmax/kernels.h"
#include "filigree/entmax/scratch.h"
#include "filigree/entmax/steep-inl.h"
#include "filigree/entmax/transforms-inl.h"
#include "filigree/entmax/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::entmax_kernels::HWY_NAMESPACE {

inline Rows Skip(Rows shape, int64_t rows) {
  shape.rows -= rows;
  if (shape.lengths) shape.lengths += rows;
  return shape;
}

/// Calls solve(z, n, p, next) for every row, which returns a RowResult; next: the entries of the
/// row that follows in memory, or 0.
template <class T, class Solve>
void EachRow(Rows shape, const T* z, T* p, T* tau, int64_t* support, Solve&& solve) {
  for (int64_t r = 0; r < shape.rows; ++r) {
    const size_t n = static_cast<size_t>(shape.lengths ? shape.lengths[r] : shape.size);
    T* row = p + r * shape.stride;
    const size_t next = r + 1 < shape.rows && shape.stride == shape.size ? n : 0;
    const RowResult result = solve(z + r * shape.stride, n, row, next);
    simd::FillZero(row + n, row + shape.size);
    if (tau) tau[r] = static_cast<T>(result.tau);
    if (support) support[r] = result.support;
  }
}

template <class T>
void SoftmaxRows(Rows shape, const T* z, T* p, T* tau, int64_t* support) {
  const hn::ScalableTag<T> d;
  EachRow(shape, z, p, tau, support, [&](const T* row, size_t n, T* out, size_t) HWY_ATTR {
    return SoftmaxAlong(d, static_cast<T>(shape.scale), row, n, out);
  });
}

/// Solves full blocks of rows, a row to a lane, and leaves the others to narrower vectors, down to
/// a quarter: a block costs the same however few of its lanes are used.
template <int kHalvings, class Transform, class D, class T = hn::TFromD<D>>
void AcrossRows(D d, const Transform& transform, Rows shape, const T* z, T* p, T* tau,
                int64_t* support) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  while (shape.rows > (kHalvings > 0 ? lanes / 2 : 0)) {
    Rows block = shape;
    block.rows = std::min(shape.rows, lanes);
    EntmaxAcross(d, transform, block, shape.rows - block.rows, z, p, tau, support);
    shape = Skip(shape, block.rows);
    z += block.rows * shape.stride;
    p += block.rows * shape.stride;
    if (tau) tau += block.rows;
    if (support) support += block.rows;
  }
  if constexpr (kHalvings > 0) {
    if (shape.rows == 0) return;
    const hn::CappedTag<T, HWY_MAX(hn::MaxLanes(d) / 2, 1)> half;
    AcrossRows<kHalvings - 1>(half, transform, shape, z, p, tau, support);
  }
}

template <class Transform, class T>
void EntmaxRows(const Transform& transform, Rows shape, const T* z, T* p, T* tau,
                int64_t* support) {
  const hn::ScalableTag<T> d;
  // The choice must not depend on the number of rows, so that a row always gives the same bits.
  if (shape.size <= kMostAcross) {
    return AcrossRows<2>(d, transform, shape, z, p, tau, support);
  }
  const size_t size = static_cast<size_t>(shape.size);
  Scratch<T> t(AlongRoom(d, size)), q(AlongRoom(d, size));
  Scratch<KeepBits> keep(VectorsFor(d, size));
  EachRow(shape, z, p, tau, support, [&](const T* row, size_t n, T* out, size_t next) HWY_ATTR {
    return EntmaxAlong(d, transform, static_cast<T>(shape.scale), row, n, next, out, t.data(),
                       q.data(), keep.data());
  });
}

template <class T>
void SteepRows(double alpha, Rows shape, const T* z, T* p, T* tau, int64_t* support) {
  const hn::ScalableTag<double> d;
  const size_t size = static_cast<size_t>(shape.size);
  Scratch<double> wide(size), t(AlongRoom(d, size)), sorted(AlongRoom(d, size));
  Scratch<KeepBits> keep(VectorsFor(d, size));
  EachRow(shape, z, p, tau, support, [&](const T* row, size_t n, T* out, size_t) HWY_ATTR {
    double* values = wide.data();
    std::copy(row, row + n, values);
    const RowResult result =
        EntmaxSteep(d, alpha - 1, shape.scale, values, n, t.data(), sorted.data(), keep.data());
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<T>(values[i]);
    return result;
  });
}

/// The transform of an α. Setting one up costs as much as solving a short row, and a model has few,
/// which come again and again: a thread keeps those that it has used last.
template <class T>
const AnyAlpha<T>& TransformOf(double alpha) {
  struct Entry {
    double alpha = 1.25;
    AnyAlpha<T> transform{1.25};
  };
  thread_local std::array<Entry, 64> entries;
  Entry& entry = entries[std::hash<double>()(alpha) % entries.size()];
  if (entry.alpha != alpha) entry = {alpha, AnyAlpha<T>(alpha)};
  return entry.transform;
}

template <class T>
void Forward(Rows shape, const T* z, double alpha, T* p, T* tau, int64_t* support) {
  if (alpha == 1) {
    SoftmaxRows(shape, z, p, tau, support);
  } else if (alpha == 1.5) {
    EntmaxRows(Entmax15<T>(), shape, z, p, tau, support);
  } else if (alpha == 2) {
    EntmaxRows(Sparsemax<T>(), shape, z, p, tau, support);
  } else if (alpha < 2) {
    EntmaxRows(TransformOf<T>(alpha), shape, z, p, tau, support);
  } else {
    SteepRows(alpha, shape, z, p, tau, support);
  }
}

/// Whether AnyAlpha is what solves it.
inline bool IsAnyAlpha(double alpha) { return alpha > 1 && alpha < 2 && alpha != 1.5; }

void ForwardByRow(Rows shape, const float* z, const double* alpha, float* p) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto solve = [&](int64_t first, int64_t rows, auto&& how) HWY_ATTR {
    Rows part = Skip(shape, first);
    part.rows = rows;
    how(part, z + first * shape.stride, p + first * shape.stride);
  };
  for (int64_t r = 0; r < shape.rows;) {
    int64_t same = 1;
    while (r + same < shape.rows && alpha[r + same] == alpha[r]) ++same;
    const bool alone = shape.size > kMostAcross || !IsAnyAlpha(alpha[r]);
    if (alone || same >= lanes) {
      const int64_t rows = alone ? same : same / lanes * lanes;
      solve(r, rows, [&](Rows part, const float* from, float* to) HWY_ATTR {
        Forward<float>(part, from, alpha[r], to, nullptr, nullptr);
      });
      r += rows;
      continue;
    }
    // What is left of this α and the rows of others that follow, up to a vector.
    AlphaByLane<float> transform;
    const auto whole = [&](double a) { return static_cast<size_t>(shape.size) <= MostWhole(a); };
    const auto joins = [&](double a) { return IsAnyAlpha(a) && whole(a) == whole(alpha[r]); };
    int64_t rows = 0;
    for (; rows < lanes && r + rows < shape.rows && joins(alpha[r + rows]); ++rows) {
      transform.SetLane(static_cast<size_t>(rows), TransformOf<float>(alpha[r + rows]));
    }
    solve(r, rows, [&](Rows part, const float* from, float* to) HWY_ATTR {
      AcrossRows<2>(d, transform, part, from, to, static_cast<float*>(nullptr),
                    static_cast<int64_t*>(nullptr));
    });
    r += rows;
  }
}

void ForwardFloat(Rows shape, const float* z, double alpha, float* p, float* tau,
                  int64_t* support) {
  Forward(shape, z, alpha, p, tau, support);
}

void ForwardDouble(Rows shape, const double* z, double alpha, double* p, double* tau,
                   int64_t* support) {
  Forward(shape, z, alpha, p, tau, support);
}

}  // namespace filigree::entmax_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace filigree::entmax_kernels {

HWY_EXPORT(ForwardFloat);
HWY_EXPORT(ForwardDouble);
HWY_EXPORT(ForwardByRow);

void forward(Rows shape, const float* z, double alpha, float* p, float* tau, int64_t* support) {
  HWY_DYNAMIC_DISPATCH(ForwardFloat)(shape, z, alpha, p, tau, support);
}

void forward(Rows shape, const double* z, double alpha, double* p, double* tau, int64_t* support) {
  HWY_DYNAMIC_DISPATCH(ForwardDouble)(shape, z, alpha, p, tau, support);
}

void forward_by_row(Rows shape, const float* z, const double* alpha, float* p) {
  HWY_DYNAMIC_DISPATCH(ForwardByRow)(shape, z, alpha, p);
}

}  // namespace filigree::entmax_kernels
#endif
