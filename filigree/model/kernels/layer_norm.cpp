#include "filigree/model/kernels/layer_norm.h"

#include <cmath>

#include "filigree/entmax/dropout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filigree/model/kernels/layer_norm.cpp"
// The order of these matters.
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "filigree/entmax/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::model::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace simd = filigree::simd::HWY_NAMESPACE;

// out = residual + dropout(branch), of entries `first` … of the whole.
template <typename T>
void Add(const AddNorm<T>& shape, int64_t first, const T* branch, const T* residual, T* out) {
  if (shape.dropout > 0) {
    return dropout_add(branch, residual, out, shape.width, shape.dropout, shape.dropout_key,
                       static_cast<uint64_t>(first));
  }
  const hn::ScalableTag<T> d;
  simd::ForEachVector(d, static_cast<size_t>(shape.width), [&](size_t i, size_t count) HWY_ATTR {
    const auto added =
        hn::Add(simd::Load(d, branch + i, count, T(0)), simd::Load(d, residual + i, count, T(0)));
    simd::Store(d, added, out + i, count);
  });
}

template <class D, class T = hn::TFromD<D>>
T Mean(D d, hn::Vec<D> sum, size_t size) {
  return hn::GetLane(hn::SumOfLanes(d, sum)) / static_cast<T>(size);
}

template <typename T>
void NormRow(const AddNorm<T>& shape, const T* HWY_RESTRICT x, T* HWY_RESTRICT out,
             T* HWY_RESTRICT statistics) {
  const hn::ScalableTag<T> d;
  const auto size = static_cast<size_t>(shape.width);
  auto sum = hn::Zero(d);
  simd::ForEachVector(d, size, [&](size_t i, size_t count) HWY_ATTR {
    sum = hn::Add(sum, simd::Load(d, x + i, count, T(0)));
  });
  const T mean = Mean(d, sum, size);
  const auto means = hn::Set(d, mean);
  auto squares = hn::Zero(d);
  simd::ForEachVector(d, size, [&](size_t i, size_t count) HWY_ATTR {
    const auto centred = hn::Sub(simd::Load(d, x + i, count, mean), means);
    squares = hn::MulAdd(centred, centred, squares);
  });
  const T inverse = 1 / std::sqrt(Mean(d, squares, size) + static_cast<T>(shape.epsilon));
  const auto inverses = hn::Set(d, inverse);
  simd::ForEachVector(d, size, [&](size_t i, size_t count) HWY_ATTR {
    const auto centred = hn::Sub(simd::Load(d, x + i, count, mean), means);
    const auto weight = simd::Load(d, shape.weight + i, count, T(0));
    const auto bias = simd::Load(d, shape.bias + i, count, T(0));
    simd::Store(d, hn::MulAdd(hn::Mul(centred, inverses), weight, bias), out + i, count);
  });
  if (statistics) {
    statistics[0] = mean;
    statistics[1] = inverse;
  }
}

// With x̂ = (x − mean) · inverse and g = d_out · weight: dx = inverse · (g − mean(g) − x̂ · mean(g
// x̂)).
template <typename T>
void NormRowBackward(const AddNorm<T>& shape, const T* HWY_RESTRICT x, const T* statistics,
                     const T* HWY_RESTRICT d_out, const T* d_sum, T* HWY_RESTRICT dx,
                     T* HWY_RESTRICT d_weight, T* HWY_RESTRICT d_bias) {
  const hn::ScalableTag<T> d;
  const auto size = static_cast<size_t>(shape.width);
  const T mean = statistics[0];
  const auto means = hn::Set(d, mean), inverses = hn::Set(d, statistics[1]);
  const auto normed = [&](size_t i, size_t count) HWY_ATTR {
    return hn::Mul(hn::Sub(simd::Load(d, x + i, count, mean), means), inverses);
  };
  auto sum = hn::Zero(d), products = hn::Zero(d);
  simd::ForEachVector(d, size, [&](size_t i, size_t count) HWY_ATTR {
    const auto out = simd::Load(d, d_out + i, count, T(0));
    const auto g = hn::Mul(out, simd::Load(d, shape.weight + i, count, T(0)));
    const auto y = normed(i, count);
    sum = hn::Add(sum, g);
    products = hn::MulAdd(g, y, products);
    simd::Store(d, hn::MulAdd(out, y, simd::Load(d, d_weight + i, count, T(0))), d_weight + i,
                count);
    simd::Store(d, hn::Add(out, simd::Load(d, d_bias + i, count, T(0))), d_bias + i, count);
  });
  const auto mean_g = hn::Set(d, Mean(d, sum, size));
  const auto mean_gy = hn::Set(d, Mean(d, products, size));
  simd::ForEachVector(d, size, [&](size_t i, size_t count) HWY_ATTR {
    const auto g = hn::Mul(simd::Load(d, d_out + i, count, T(0)),
                           simd::Load(d, shape.weight + i, count, T(0)));
    const auto centred = hn::NegMulAdd(normed(i, count), mean_gy, hn::Sub(g, mean_g));
    const auto rest = d_sum ? simd::Load(d, d_sum + i, count, T(0)) : hn::Zero(d);
    simd::Store(d, hn::MulAdd(centred, inverses, rest), dx + i, count);
  });
}

template <typename T>
void AddNormOf(const AddNorm<T>& shape, const T* branch, const T* residual, T* sum, T* normed,
               T* statistics) {
  for (int64_t row = 0; row < shape.rows; ++row) {
    const int64_t at = row * shape.width;
    if (branch) Add(shape, at, branch + at, residual + at, sum + at);
    NormRow(shape, (branch ? sum : residual) + at, normed + at,
            statistics ? statistics + 2 * row : nullptr);
  }
}

template <typename T>
void AddNormBackwardOf(const AddNorm<T>& shape, const T* sum, const T* statistics,
                       const T* d_normed, const T* d_sum, T* d_branch, T* d_residual, T* d_weight,
                       T* d_bias) {
  for (int64_t row = 0; row < shape.rows; ++row) {
    const int64_t at = row * shape.width;
    NormRowBackward(shape, sum + at, statistics + 2 * row, d_normed + at,
                    d_sum ? d_sum + at : nullptr, d_residual + at, d_weight, d_bias);
    if (d_branch) {
      dropout_add(d_residual + at, static_cast<const T*>(nullptr), d_branch + at, shape.width,
                  shape.dropout, shape.dropout_key, static_cast<uint64_t>(at));
    }
  }
}

void AddNormFloat(const AddNorm<float>& shape, const float* branch, const float* residual,
                  float* sum, float* normed, float* statistics) {
  AddNormOf(shape, branch, residual, sum, normed, statistics);
}
void AddNormDouble(const AddNorm<double>& shape, const double* branch, const double* residual,
                   double* sum, double* normed, double* statistics) {
  AddNormOf(shape, branch, residual, sum, normed, statistics);
}
void AddNormBackwardFloat(const AddNorm<float>& shape, const float* sum, const float* statistics,
                          const float* d_normed, const float* d_sum, float* d_branch,
                          float* d_residual, float* d_weight, float* d_bias) {
  AddNormBackwardOf(shape, sum, statistics, d_normed, d_sum, d_branch, d_residual, d_weight,
                    d_bias);
}
void AddNormBackwardDouble(const AddNorm<double>& shape, const double* sum,
                           const double* statistics, const double* d_normed, const double* d_sum,
                           double* d_branch, double* d_residual, double* d_weight, double* d_bias) {
  AddNormBackwardOf(shape, sum, statistics, d_normed, d_sum, d_branch, d_residual, d_weight,
                    d_bias);
}

}  // namespace filigree::model::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace filigree::model {
HWY_EXPORT(AddNormFloat);
HWY_EXPORT(AddNormDouble);
HWY_EXPORT(AddNormBackwardFloat);
HWY_EXPORT(AddNormBackwardDouble);

template <>
void add_norm(const AddNorm<float>& shape, const float* branch, const float* residual, float* sum,
              float* normed, float* statistics) {
  HWY_DYNAMIC_DISPATCH(AddNormFloat)(shape, branch, residual, sum, normed, statistics);
}

template <>
void add_norm(const AddNorm<double>& shape, const double* branch, const double* residual,
              double* sum, double* normed, double* statistics) {
  HWY_DYNAMIC_DISPATCH(AddNormDouble)(shape, branch, residual, sum, normed, statistics);
}

template <>
void add_norm_backward(const AddNorm<float>& shape, const float* sum, const float* statistics,
                       const float* d_normed, const float* d_sum, float* d_branch,
                       float* d_residual, float* d_weight, float* d_bias) {
  HWY_DYNAMIC_DISPATCH(AddNormBackwardFloat)
  (shape, sum, statistics, d_normed, d_sum, d_branch, d_residual, d_weight, d_bias);
}

template <>
void add_norm_backward(const AddNorm<double>& shape, const double* sum, const double* statistics,
                       const double* d_normed, const double* d_sum, double* d_branch,
                       double* d_residual, double* d_weight, double* d_bias) {
  HWY_DYNAMIC_DISPATCH(AddNormBackwardDouble)
  (shape, sum, statistics, d_normed, d_sum, d_branch, d_residual, d_weight, d_bias);
}

}  // namespace filigree::model
#endif
