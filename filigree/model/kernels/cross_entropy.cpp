#include "filigree/model/kernels/cross_entropy.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filigree/model/kernels/cross_entropy.cpp"
// The order of these matters.
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace filigree::model::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
RowLoss CrossEntropyRow(T* logits, int64_t size, int64_t gold, double smoothing, T scale) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const T gold_logit = logits[gold];

  auto maxima = hn::Set(d, logits[0]);
  auto sums = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto v = hn::LoadU(d, logits + i);
    maxima = hn::Max(maxima, v);
    sums = hn::Add(sums, v);
  }
  T maximum = hn::GetLane(hn::MaxOfLanes(d, maxima));
  double total = hn::GetLane(hn::SumOfLanes(d, sums));
  for (; i < size; ++i) {
    maximum = std::max(maximum, logits[i]);
    total += logits[i];
  }

  const auto shift = hn::Set(d, maximum);
  sums = hn::Zero(d);
  for (i = 0; i + lanes <= size; i += lanes) {
    const auto e = hn::Exp(d, hn::Sub(hn::LoadU(d, logits + i), shift));
    hn::StoreU(e, d, logits + i);
    sums = hn::Add(sums, e);
  }
  double partition = hn::GetLane(hn::SumOfLanes(d, sums));
  for (; i < size; ++i) {
    logits[i] = std::exp(logits[i] - maximum);
    partition += logits[i];
  }

  const double log_partition = static_cast<double>(maximum) + std::log(partition);
  const double log_likelihood = static_cast<double>(gold_logit) - log_partition;
  const double mean_log_likelihood = total / static_cast<double>(size) - log_partition;
  if (scale != 0) {
    const T factor = static_cast<T>(scale / partition);
    const T base = static_cast<T>(-scale * smoothing / static_cast<double>(size));
    const auto factors = hn::Set(d, factor), bases = hn::Set(d, base);
    for (i = 0; i + lanes <= size; i += lanes) {
      hn::StoreU(hn::MulAdd(hn::LoadU(d, logits + i), factors, bases), d, logits + i);
    }
    for (; i < size; ++i) logits[i] = logits[i] * factor + base;
    logits[gold] -= static_cast<T>(scale * (1 - smoothing));
  }
  return {-(1 - smoothing) * log_likelihood - smoothing * mean_log_likelihood, log_likelihood};
}

RowLoss CrossEntropyRowFloat(float* logits, int64_t size, int64_t gold, double smoothing,
                             float scale) {
  return CrossEntropyRow(logits, size, gold, smoothing, scale);
}
RowLoss CrossEntropyRowDouble(double* logits, int64_t size, int64_t gold, double smoothing,
                              double scale) {
  return CrossEntropyRow(logits, size, gold, smoothing, scale);
}

}  // namespace filigree::model::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace filigree::model {
HWY_EXPORT(CrossEntropyRowFloat);
HWY_EXPORT(CrossEntropyRowDouble);

RowLoss cross_entropy_row(float* logits, int64_t size, int64_t gold, double smoothing,
                          float scale) {
  return HWY_DYNAMIC_DISPATCH(CrossEntropyRowFloat)(logits, size, gold, smoothing, scale);
}
RowLoss cross_entropy_row(double* logits, int64_t size, int64_t gold, double smoothing,
                          double scale) {
  return HWY_DYNAMIC_DISPATCH(CrossEntropyRowDouble)(logits, size, gold, smoothing, scale);
}

}  // namespace filigree::model
#endif
