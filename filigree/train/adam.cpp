#include "filigree/train/adam.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filigree/train/adam.cpp"
// The order of these matters.
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace filigree::train::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Coefficients of one update, the bias corrections folded in:
// θ −= rate · m / (√v · root + ε), with rate = η / (1 − β₁ᵗ) and root = 1 / √(1 − β₂ᵗ).
struct Coefficients {
  explicit Coefficients(const AdamStep& s)
      : beta1(static_cast<float>(s.beta1)),
        beta2(static_cast<float>(s.beta2)),
        rate(static_cast<float>(s.learning_rate / (1 - std::pow(s.beta1, s.step)))),
        root(static_cast<float>(1 / std::sqrt(1 - std::pow(s.beta2, s.step)))),
        epsilon(static_cast<float>(s.epsilon)),
        scale(static_cast<float>(s.gradient_scale)),
        smoothing(static_cast<float>(s.smoothing)) {}
  float beta1, beta2, rate, root, epsilon, scale, smoothing;
};

void AdamUpdate(const AdamStep& step, int64_t size, const float* gradient, float* parameter,
                float* first, float* second, float* average) {
  const Coefficients c(step);
  auto update = [&](auto d, int64_t i) {
    const auto g = hn::Mul(hn::LoadU(d, gradient + i), hn::Set(d, c.scale));
    const auto m = hn::MulAdd(hn::Set(d, c.beta1), hn::LoadU(d, first + i),
                              hn::Mul(hn::Set(d, 1 - c.beta1), g));
    const auto v = hn::MulAdd(hn::Set(d, c.beta2), hn::LoadU(d, second + i),
                              hn::Mul(hn::Set(d, 1 - c.beta2), hn::Mul(g, g)));
    const auto denominator = hn::MulAdd(hn::Sqrt(v), hn::Set(d, c.root), hn::Set(d, c.epsilon));
    const auto p =
        hn::Sub(hn::LoadU(d, parameter + i), hn::Div(hn::Mul(hn::Set(d, c.rate), m), denominator));
    hn::StoreU(m, d, first + i);
    hn::StoreU(v, d, second + i);
    hn::StoreU(p, d, parameter + i);
    if (average) {
      const auto a = hn::LoadU(d, average + i);
      hn::StoreU(hn::MulAdd(hn::Set(d, c.smoothing), hn::Sub(p, a), a), d, average + i);
    }
  };
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) update(d, i);
  for (; i < size; ++i) update(hn::CappedTag<float, 1>(), i);
}

// Float sums over short runs, then double: exact enough for millions of terms, and fast.
constexpr int64_t kRun = 1024;

double AddAndSquareNorm(int64_t size, const float* from, float* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  double norm = 0;
  for (int64_t begin = 0; begin < size; begin += kRun) {
    const int64_t end = std::min(size, begin + kRun);
    auto sum = hn::Zero(d);
    int64_t i = begin;
    for (; i + lanes <= end; i += lanes) {
      auto x = hn::LoadU(d, to + i);
      if (from) {
        x = hn::Add(x, hn::LoadU(d, from + i));
        hn::StoreU(x, d, to + i);
      }
      sum = hn::MulAdd(x, x, sum);
    }
    norm += hn::GetLane(hn::SumOfLanes(d, sum));
    for (; i < end; ++i) {
      if (from) to[i] += from[i];
      norm += static_cast<double>(to[i]) * to[i];
    }
  }
  return norm;
}

}  // namespace filigree::train::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace filigree::train {
HWY_EXPORT(AdamUpdate);
HWY_EXPORT(AddAndSquareNorm);

void adam_update(const AdamStep& step, int64_t size, const float* gradient, float* parameter,
                 float* first_moment, float* second_moment, float* average) {
  HWY_DYNAMIC_DISPATCH(AdamUpdate)
  (step, size, gradient, parameter, first_moment, second_moment, average);
}

double add_and_square_norm(int64_t size, const float* from, float* to) {
  return HWY_DYNAMIC_DISPATCH(AddAndSquareNorm)(size, from, to);
}

double square_norm(int64_t size, const float* x) {
  return HWY_DYNAMIC_DISPATCH(AddAndSquareNorm)(size, nullptr, const_cast<float*>(x));
}

}  // namespace filigree::train
#endif
