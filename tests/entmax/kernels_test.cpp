#include "filigree/entmax/kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "filigree/base/random.h"
#include "tests/entmax/targets.h"

namespace filigree {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::FloatNear;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kAlphas[] = {1, 1 + 0x1p-20, 1.05, 1.3, 1.5, 1.8, 1.999, 2, 2.5, 4};

template <typename T>
struct Forward {
  std::vector<T> p, tau;
  std::vector<int64_t> support;
};

template <typename T>
Forward<T> forward(const std::vector<T>& z, double alpha, int64_t rows = 1) {
  const int64_t size = static_cast<int64_t>(z.size()) / rows;
  Forward<T> out{std::vector<T>(z.size()), std::vector<T>(rows), std::vector<int64_t>(rows)};
  entmax_kernels::forward({rows, size, size}, z.data(), alpha, out.p.data(), out.tau.data(),
                          out.support.data());
  return out;
}

template <typename T>
struct Backward {
  std::vector<T> dz;
  std::vector<double> dalpha;
};

template <typename T>
Backward<T> backward(const std::vector<T>& p, const std::vector<T>& dp, double alpha,
                     int64_t rows = 1) {
  const int64_t size = static_cast<int64_t>(p.size()) / rows;
  Backward<T> out{std::vector<T>(p.size()), std::vector<double>(rows)};
  entmax_kernels::backward({rows, size, size}, p.data(), dp.data(), alpha, out.dz.data(),
                           out.dalpha.data());
  return out;
}

// Normal scores, by the method of Box and Muller.
template <typename T>
std::vector<T> random_scores(int64_t n, uint64_t seed, double deviation = 2) {
  Random random(seed);
  std::vector<T> scores(n);
  for (T& score : scores) {
    const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
    score = static_cast<T>(deviation * radius * std::cos(6.283185307179586 * random.uniform()));
  }
  return scores;
}

template <typename T>
double sum(const std::vector<T>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

template <typename T>
void expect_near(const std::vector<T>& a, const std::vector<T>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << "entry " << i;
}

TEST(EntmaxKernels, PublishedValues) {
  const auto near = [](float v) { return FloatNear(v, 5e-5f); };
  const std::vector<float> z = {-2, 0, 0.5f};
  EXPECT_THAT(forward(z, 1.5).p, ElementsAre(0, near(.3260f), near(.6740f)));
  EXPECT_THAT(forward(z, 2).p, ElementsAre(0, .25f, .75f));
  const std::vector<float> first = {-1, 0, 0.5f}, second = {1, 2, 3.5f}, third = {0, 0, 1};
  EXPECT_THAT(forward(first, 1.33).p, ElementsAre(near(.0460f), near(.3276f), near(.6264f)));
  EXPECT_THAT(forward(second, 1.33).p, ElementsAre(near(.0026f), near(.1012f), near(.8963f)));
  EXPECT_THAT(forward(third, 1.1).p, ElementsAre(near(.1985f), near(.1985f), near(.6031f)));
  EXPECT_THAT(forward(third, 1).p, ElementsAre(near(.2119f), near(.2119f), near(.5761f)));
  EXPECT_NEAR(backward(forward(first, 1.33).p, {1, 0, 0}, 1.33).dalpha[0], -.2562, 5e-5);
}

TEST(EntmaxKernels, ThresholdFollowsTheUsualConvention) {
  const std::vector<double> z = random_scores<double>(20, 1);
  for (double alpha : {1.2, 1.5, 2.0, 3.0}) {
    const auto out = forward(z, alpha);
    for (size_t i = 0; i < z.size(); ++i) {
      const double value = std::max((alpha - 1) * z[i] - out.tau[0], 0.0);
      EXPECT_NEAR(std::pow(value, 1 / (alpha - 1)), out.p[i], 1e-9);
    }
  }
  const auto softmax = forward(z, 1);
  EXPECT_NEAR(std::exp(z[3] - softmax.tau[0]), softmax.p[3], 1e-12);
}

template <typename T>
class EntmaxProperties : public ::testing::Test {
 protected:
  // Calls check(z, α) for rows of many lengths and scales.
  template <typename Check>
  void for_random_rows(Check&& check) {
    for (int64_t n : {1, 2, 3, 7, 16, 31, 64, 150, 700}) {
      for (double deviation : {0.01, 1.0, 30.0}) {
        for (double alpha : kAlphas) {
          SCOPED_TRACE("n " + std::to_string(n) + " deviation " + std::to_string(deviation) +
                       " alpha " + std::to_string(alpha));
          check(random_scores<T>(n, 17 * n, deviation), alpha);
        }
      }
    }
  }
  static constexpr double kTolerance = sizeof(T) == 4 ? 3e-6 : 1e-12;
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(EntmaxProperties, Types);

TYPED_TEST(EntmaxProperties, SumsToOne) {
  this->for_random_rows([&](const auto& z, double alpha) {
    EXPECT_NEAR(sum(forward(z, alpha).p), 1, this->kTolerance);
  });
}

TYPED_TEST(EntmaxProperties, KeepsTheOrderOfScores) {
  this->for_random_rows([](const auto& z, double alpha) {
    const auto p = forward(z, alpha).p;
    std::vector<size_t> order(z.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return z[a] < z[b]; });
    for (size_t i = 1; i < order.size(); ++i) {
      EXPECT_LE(p[order[i - 1]], p[order[i]] * (1 + 1e-6));
    }
  });
}

TYPED_TEST(EntmaxProperties, DoesNotSeeAConstantAddedToAllScores) {
  this->for_random_rows([&](auto z, double alpha) {
    for (auto& v : z) v = std::round(v * 64) / 64;  // so that adding 32 loses nothing
    const auto p = forward(z, alpha).p;
    for (auto& v : z) v += 32;
    EXPECT_EQ(forward(z, alpha).p, p);
  });
}

TYPED_TEST(EntmaxProperties, FollowsAPermutation) {
  this->for_random_rows([&](auto z, double alpha) {
    auto p = forward(z, alpha).p;
    std::reverse(z.begin(), z.end());
    std::reverse(p.begin(), p.end());
    expect_near(forward(z, alpha).p, p, this->kTolerance);
  });
}

TYPED_TEST(EntmaxProperties, CountsTheSupport) {
  this->for_random_rows([](const auto& z, double alpha) {
    const auto out = forward(z, alpha);
    EXPECT_EQ(out.support[0],
              std::count_if(out.p.begin(), out.p.end(), [](auto p) { return p > 0; }));
  });
}

TYPED_TEST(EntmaxProperties, SupportShrinksAsAlphaGrows) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto z = random_scores<TypeParam>(50, seed);
    int64_t last = 50;
    for (double alpha : kAlphas) {
      const int64_t support = forward(z, alpha).support[0];
      EXPECT_LE(support, last) << "alpha " << alpha;
      last = support;
    }
  }
}

TYPED_TEST(EntmaxProperties, ScoreGradientsSumToZero) {
  this->for_random_rows([&](const auto& z, double alpha) {
    const auto p = forward(z, alpha).p;
    const auto dz = backward(p, random_scores<TypeParam>(z.size(), 5, 1), alpha).dz;
    double scale = 1;
    for (auto v : dz) scale = std::max<double>(scale, std::abs(v));
    EXPECT_NEAR(sum(dz), 0, scale * z.size() * this->kTolerance);
  });
}

TYPED_TEST(EntmaxProperties, ConstantCotangentHasNoGradient) {
  this->for_random_rows([&](const auto& z, double alpha) {
    const auto p = forward(z, alpha).p;
    const auto out = backward(p, std::vector<TypeParam>(z.size(), 3), alpha);
    EXPECT_NEAR(out.dalpha[0], 0, (alpha > 2 ? 1000 : 50) * this->kTolerance);
  });
}

TYPED_TEST(EntmaxProperties, ARowGivesTheSameBitsAloneAndInABlock) {
  for (int64_t n : {1, 5, 33, 128, 129}) {
    for (double alpha : kAlphas) {
      const auto z = random_scores<TypeParam>(37 * n, 3);
      const auto block = forward(z, alpha, 37);
      for (int64_t r = 0; r < 37; ++r) {
        const auto row = z.begin() + r * n, p = block.p.begin() + r * n;
        const auto lone = forward(std::vector<TypeParam>(row, row + n), alpha);
        EXPECT_EQ(std::vector<TypeParam>(p, p + n), lone.p);
        EXPECT_EQ(block.tau[r], lone.tau[0]);
      }
    }
  }
}

// Up to 128 entries a row is solved in a lane, longer ones along the lanes.
TYPED_TEST(EntmaxProperties, MaskedEntriesAtTheEndChangeNothing) {
  for (int64_t n : {1, 9, 60}) {
    for (double alpha : kAlphas) {
      auto z = random_scores<TypeParam>(n, 13);
      auto p = forward(z, alpha).p;
      for (int64_t length : {80, 200}) {
        z.resize(length, TypeParam(-kInfinity));
        p.resize(length, 0);
        expect_near(forward(z, alpha).p, p, this->kTolerance);
      }
    }
  }
}

TYPED_TEST(EntmaxProperties, EveryInstructionSetAgrees) {
  using T = TypeParam;
  for (int64_t n : {3, 40, 200}) {
    const auto z = random_scores<T>(20 * n, 4), dp = random_scores<T>(20 * n, 5, 1);
    for (double alpha : kAlphas) {
      const auto p = forward(z, alpha, 20);
      const auto gradients = backward(p.p, dp, alpha, 20);
      for (int64_t target : hwy::SupportedAndGeneratedTargets()) {
        SCOPED_TRACE(hwy::TargetName(target));
        const OnTarget on(target);
        expect_near(forward(z, alpha, 20).p, p.p, this->kTolerance);
        if (alpha > 2) continue;  // gradients near the threshold magnify the last digit
        const auto other = backward(p.p, dp, alpha, 20);
        expect_near(other.dz, gradients.dz, 10 * this->kTolerance);
        expect_near(other.dalpha, gradients.dalpha, 10 * this->kTolerance);
      }
    }
  }
}

TYPED_TEST(EntmaxProperties, LengthsAndStrideLimitWhatIsReadAndWritten) {
  using T = TypeParam;
  const std::vector<int32_t> lengths = {5, 0, 3, 1, 4, 5, 2, 5, 5, 1, 0, 5, 3, 3, 2, 4, 5};
  const int64_t rows = static_cast<int64_t>(lengths.size()), size = 5, stride = 7;
  for (double alpha : kAlphas) {
    auto z = random_scores<T>(rows * stride, 8);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = lengths[r]; i < stride; ++i) z[r * stride + i] = T(kNaN);
    }
    std::vector<T> p(rows * stride, -7), dz = p;
    std::vector<int64_t> support(rows);
    const entmax_kernels::Rows shape{rows, size, stride, lengths.data()};
    entmax_kernels::forward(shape, z.data(), alpha, p.data(), nullptr, support.data());
    entmax_kernels::backward(shape, p.data(), z.data(), alpha, dz.data());
    for (int64_t r = 0; r < rows; ++r) {
      const auto row = p.begin() + r * stride, gradient = dz.begin() + r * stride;
      const std::vector<T> scores(z.begin() + r * stride, z.begin() + r * stride + lengths[r]);
      const std::vector<T> used(row, row + lengths[r]), tail(row + lengths[r], row + size);
      expect_near(used, forward(scores, alpha).p, this->kTolerance);
      EXPECT_THAT(tail, Each(T(0)));
      EXPECT_THAT(std::vector<T>(gradient + lengths[r], gradient + size), Each(T(0)));
      EXPECT_THAT(std::vector<T>(row + size, row + stride), Each(T(-7)));
      EXPECT_THAT(std::vector<T>(gradient + size, gradient + stride), Each(T(-7)));
      EXPECT_EQ(support[r] > 0, lengths[r] > 0);
    }
  }
}

TYPED_TEST(EntmaxProperties, WorksInPlace) {
  using T = TypeParam;
  for (int64_t n : {6, 40, 300}) {
    for (double alpha : kAlphas) {
      const auto z = random_scores<T>(20 * n, 2), dp = random_scores<T>(20 * n, 3);
      const auto p = forward(z, alpha, 20);
      auto in_place = z;
      entmax_kernels::forward({20, n, n}, in_place.data(), alpha, in_place.data());
      EXPECT_EQ(in_place, p.p);
      in_place = dp;
      entmax_kernels::backward({20, n, n}, p.p.data(), in_place.data(), alpha, in_place.data());
      EXPECT_EQ(in_place, backward(p.p, dp, alpha, 20).dz);
    }
  }
}

// 16 rows, of which row 3 holds the given scores, beside rows that must not be touched by them.
template <typename T>
void expect_row(const std::vector<double>& scores, const std::vector<double>& expected) {
  const int64_t n = static_cast<int64_t>(scores.size());
  for (double alpha : kAlphas) {
    SCOPED_TRACE(alpha);
    const auto clean = random_scores<T>(16 * n, 9);
    const auto untouched = forward(clean, alpha, 16).p;
    auto z = clean;
    std::copy(scores.begin(), scores.end(), z.begin() + 3 * n);
    const auto block = forward(z, alpha, 16);
    const auto lone = forward(std::vector<T>(scores.begin(), scores.end()), alpha);
    const auto gradients = backward(block.p, clean, alpha, 16);
    const bool poisoned = std::isnan(expected[0]);
    for (int64_t i = 0; i < 16 * n; ++i) {
      if (i / n != 3) {
        EXPECT_EQ(block.p[i], untouched[i]);
        EXPECT_TRUE(std::isfinite(gradients.dz[i]));
      } else if (poisoned) {
        EXPECT_TRUE(std::isnan(block.p[i]) && std::isnan(lone.p[i - 3 * n]));
        EXPECT_TRUE(std::isnan(gradients.dz[i]));
      } else {
        EXPECT_NEAR(block.p[i], expected[i - 3 * n], 1e-6);
        EXPECT_NEAR(lone.p[i - 3 * n], expected[i - 3 * n], 1e-6);
        EXPECT_TRUE(std::isfinite(gradients.dz[i]));
      }
    }
    EXPECT_EQ(std::isnan(block.tau[3]), poisoned);
    EXPECT_EQ(std::isnan(gradients.dalpha[3]), poisoned);
    EXPECT_FALSE(std::isnan(block.tau[2]));
  }
}

TYPED_TEST(EntmaxProperties, MinusInfinityMasks) {
  expect_row<TypeParam>({-kInfinity, 7, -kInfinity}, {0, 1, 0});
  expect_row<TypeParam>({2, -kInfinity, 2, -kInfinity}, {.5, 0, .5, 0});
}

TYPED_TEST(EntmaxProperties, FullyMaskedRowIsZero) {
  expect_row<TypeParam>({-kInfinity, -kInfinity}, {0, 0});
  const auto out = forward(std::vector<TypeParam>(4, TypeParam(-kInfinity)), 1.5);
  EXPECT_EQ(out.tau[0], TypeParam(kInfinity));
  EXPECT_EQ(out.support[0], 0);
}

TYPED_TEST(EntmaxProperties, NaNStaysInItsRow) {
  expect_row<TypeParam>({0, kNaN, 1}, {kNaN, kNaN, kNaN});
  expect_row<TypeParam>({kNaN}, {kNaN});
}

TYPED_TEST(EntmaxProperties, PlusInfinityTakesTheMass) {
  expect_row<TypeParam>({1, kInfinity, -kInfinity}, {0, 1, 0});
  expect_row<TypeParam>({kInfinity, 5, kInfinity, -5}, {.5, 0, .5, 0});
}

TYPED_TEST(EntmaxProperties, AnyMagnitudeIsSafe) {
  const double huge = std::numeric_limits<TypeParam>::max();
  expect_row<TypeParam>({huge, -huge, huge}, {.5, 0, .5});
  expect_row<TypeParam>({-huge, -huge}, {.5, .5});
  expect_row<TypeParam>({1e9, 1e9 - 4096, -1e9}, {1, 0, 0});
}

TYPED_TEST(EntmaxProperties, VeryLargeAlphaStaysADistribution) {
  for (double alpha : {6.0, 30.0, 1000.0, 1e6}) {
    const auto ties = forward(std::vector<TypeParam>(300, 2), alpha).p;
    EXPECT_NEAR(ties[0], 1 / 300., 1e-7);
    const auto p = forward(random_scores<TypeParam>(300, 7, 1e-3), alpha).p;
    EXPECT_NEAR(sum(p), 1, 1e-5);
    for (auto v : backward(p, random_scores<TypeParam>(300, 8), alpha).dz) {
      EXPECT_TRUE(std::isfinite(v)) << "alpha " << alpha;
    }
  }
}

TYPED_TEST(EntmaxProperties, AlphaNearOneApproachesSoftmax) {
  const auto z = random_scores<TypeParam>(30, 6);
  const auto softmax = forward(z, 1).p;
  for (double distance : {1e-4, 1e-7, 1e-12, 0x1p-52}) {
    const auto p = forward(z, 1 + distance).p;
    expect_near(p, softmax, 10 * distance + this->kTolerance);
    const std::vector<TypeParam> dp = random_scores<TypeParam>(30, 7);
    EXPECT_NEAR(backward(p, dp, 1 + distance).dalpha[0], backward(softmax, dp, 1).dalpha[0],
                30 * distance + 20 * this->kTolerance);
  }
}

TYPED_TEST(EntmaxProperties, OffTheSupportTheCotangentDoesNotMatter) {
  const std::vector<TypeParam> p = {0.25, 0, 0.75, 0};
  const std::vector<TypeParam> dp = {1, TypeParam(kNaN), 2, TypeParam(kInfinity)};
  for (double alpha : kAlphas) {
    const auto out = backward(p, dp, alpha);
    EXPECT_THAT(out.dz[1], Eq(0));
    EXPECT_THAT(out.dz[3], Eq(0));
    EXPECT_TRUE(std::isfinite(out.dz[0]) && std::isfinite(out.dalpha[0]));
  }
}

TEST(EntmaxKernels, NoRowsAndEmptyRowsAreFine) {
  entmax_kernels::forward({0, 5, 5}, static_cast<const float*>(nullptr), 1.3, nullptr);
  float tau[2];
  int64_t support[2];
  entmax_kernels::forward({2, 0, 0}, static_cast<const float*>(nullptr), 1.3, nullptr, tau,
                          support);
  EXPECT_EQ(support[0], 0);
  EXPECT_EQ(tau[1], std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace filigree
