// The gradients of rows in memory; see backward-inl.h for what they are.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filigree/entmax/backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "filigree/entmax/backward-inl.h"
#include "filigree/entmax/kernels.h"
#include "filigree/entmax/scratch.h"
#include "filigree/entmax/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::entmax_kernels::HWY_NAMESPACE {

template <class Slope, class T>
void BackwardRows(const Slope& slope, Rows shape, const T* p, const T* dp, T* dz, double* dalpha) {
  const hn::ScalableTag<T> d;
  const size_t room = static_cast<size_t>(shape.size) + hn::Lanes(d);
  Scratch<T> slopes(room), cotangents(room), weights(dalpha ? room : 0);
  const T scale = static_cast<T>(shape.scale);
  for (int64_t r = 0; r < shape.rows; ++r) {
    const size_t n = static_cast<size_t>(shape.lengths ? shape.lengths[r] : shape.size);
    const int64_t at = r * shape.stride;
    if (dalpha) {
      dalpha[r] = BackwardRow<true>(d, slope, scale, p + at, dp + at, n, dz + at, slopes.data(),
                                    cotangents.data(), weights.data());
    } else {
      BackwardRow<false>(d, slope, scale, p + at, dp + at, n, dz + at, slopes.data(),
                         cotangents.data(), weights.data());
    }
    simd::FillZero(dz + at + n, dz + at + shape.size);
  }
}

template <class T>
void Backward(Rows shape, const T* p, const T* dp, double alpha, T* dz, double* dalpha) {
  WithSlope<T>(alpha,
               [&](const auto& slope) HWY_ATTR { BackwardRows(slope, shape, p, dp, dz, dalpha); });
}

void BackwardFloat(Rows shape, const float* p, const float* dp, double alpha, float* dz,
                   double* dalpha) {
  Backward(shape, p, dp, alpha, dz, dalpha);
}

void BackwardDouble(Rows shape, const double* p, const double* dp, double alpha, double* dz,
                    double* dalpha) {
  Backward(shape, p, dp, alpha, dz, dalpha);
}

}  // namespace filigree::entmax_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace filigree::entmax_kernels {

HWY_EXPORT(BackwardFloat);
HWY_EXPORT(BackwardDouble);

void backward(Rows shape, const float* p, const float* dp, double alpha, float* dz,
              double* dalpha) {
  HWY_DYNAMIC_DISPATCH(BackwardFloat)(shape, p, dp, alpha, dz, dalpha);
}

void backward(Rows shape, const double* p, const double* dp, double alpha, double* dz,
              double* dalpha) {
  HWY_DYNAMIC_DISPATCH(BackwardDouble)(shape, p, dp, alpha, dz, dalpha);
}

}  // namespace filigree::entmax_kernels
#endif
