#include "filigree/entmax/loss_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "filigree/base/random.h"
#include "tests/entmax/targets.h"

namespace filigree {
namespace {

const double kAlphas[] = {1, 1 + 0x1p-20, 1.1, 1.5, 1.8, 2, 3};

template <typename T>
struct Result {
  std::vector<T> p, value, dz;
  std::vector<double> dalpha;
};

template <typename T>
Result<T> loss(const std::vector<T>& z, const std::vector<int64_t>& target, double alpha,
               double smoothing = 0, const int32_t* lengths = nullptr) {
  const auto rows = static_cast<int64_t>(target.size());
  const int64_t size = static_cast<int64_t>(z.size()) / rows;
  const entmax_kernels::Rows shape{rows, size, size, lengths};
  Result<T> out{std::vector<T>(z.size()), std::vector<T>(target.size()), std::vector<T>(z.size()),
                std::vector<double>(target.size())};
  entmax_kernels::loss(shape, z.data(), target.data(), alpha, smoothing, out.p.data(),
                       out.value.data(), out.dalpha.data());
  const std::vector<T> ones(target.size(), T(1));
  entmax_kernels::loss_backward(shape, out.p.data(), target.data(), smoothing, ones.data(),
                                out.dz.data());
  return out;
}

template <typename T>
std::vector<T> scores(size_t count, uint64_t seed = 1) {
  Random random(seed);
  std::vector<T> z(count);
  for (T& score : z) score = static_cast<T>(8 * random.uniform());
  return z;
}

TEST(EntmaxLossKernels, EveryInstructionSetGivesTheSame) {
  for (const int64_t size : {1, 3, 8, 17, 130, 3000}) {
    const std::vector<int64_t> target = {0, size - 1, -1, size / 2};
    const auto z = scores<float>(static_cast<size_t>(4 * size));
    const std::vector<double> wide(z.begin(), z.end());
    for (const double alpha : kAlphas) {
      const Result<double> expected = loss(wide, target, alpha, 0.1);
      for (const int64_t set : hwy::SupportedAndGeneratedTargets()) {
        const OnTarget on(set);
        const Result<float> result = loss(z, target, alpha, 0.1);
        for (size_t r = 0; r < target.size(); ++r) {
          EXPECT_NEAR(result.value[r], expected.value[r], 1e-6 * std::max(1.0, expected.value[r]))
              << hwy::TargetName(set) << " alpha " << alpha << " size " << size;
          EXPECT_NEAR(result.dalpha[r], expected.dalpha[r],
                      2e-5 * std::max(1.0, -expected.dalpha[r]))
              << hwy::TargetName(set) << " alpha " << alpha << " size " << size;
        }
        for (size_t i = 0; i < z.size(); ++i) {
          ASSERT_NEAR(result.dz[i], expected.dz[i], 2e-6) << "alpha " << alpha << " size " << size;
        }
      }
    }
  }
}

// What forward() gives to the last bit, so that α-entmax and its loss cannot disagree.
TEST(EntmaxLossKernels, ProbabilitiesAreThoseOfForward) {
  const auto z = scores<float>(5 * 700);
  for (const double alpha : kAlphas) {
    std::vector<float> p(z.size());
    entmax_kernels::forward({5, 700, 700}, z.data(), alpha, p.data());
    EXPECT_EQ(loss(z, {1, 2, 3, 4, 5}, alpha).p, p);
  }
}

TEST(EntmaxLossKernels, EntriesBeyondTheLengthAreMasked) {
  const auto z = scores<double>(2 * 20);
  const std::vector<int32_t> lengths = {7, 20};
  for (const double alpha : kAlphas) {
    for (const double smoothing : {0.0, 0.2}) {
      const auto both = loss(z, {3, 19}, alpha, smoothing, lengths.data());
      const auto shorter =
          loss(std::vector<double>(z.begin(), z.begin() + 7), {3}, alpha, smoothing);
      EXPECT_EQ(both.value[0], shorter.value[0]);
      EXPECT_EQ(both.dalpha[0], shorter.dalpha[0]);
      for (size_t i = 0; i < 20; ++i) EXPECT_EQ(both.dz[i], i < 7 ? shorter.dz[i] : 0);
    }
  }
  const std::vector<int32_t> none = {0, 0};
  const auto nothing = loss(z, {0, 0}, 1.5, 0.1, none.data());
  EXPECT_EQ(nothing.value, std::vector<double>({0, 0}));
  EXPECT_EQ(nothing.dz, std::vector<double>(40, 0.0));
}

TEST(EntmaxLossKernels, GradientsEqualDifferences) {
  const auto z = scores<double>(40, 5);
  const std::vector<int64_t> target = {12};
  constexpr double kStep = 1e-6;
  for (const double alpha : kAlphas) {
    const auto result = loss(z, target, alpha, 0.1);
    for (size_t i = 0; i < z.size(); ++i) {
      auto up = z, down = z;
      up[i] += kStep;
      down[i] -= kStep;
      EXPECT_NEAR(
          result.dz[i],
          (loss(up, target, alpha, 0.1).value[0] - loss(down, target, alpha, 0.1).value[0]) /
              (2 * kStep),
          1e-8);
    }
    if (alpha < 1.01) continue;
    EXPECT_NEAR(result.dalpha[0],
                (loss(z, target, alpha + kStep, 0.1).value[0] -
                 loss(z, target, alpha - kStep, 0.1).value[0]) /
                    (2 * kStep),
                1e-8);
  }
}

TEST(EntmaxLossKernels, HugeScoresAndTinyProbabilities) {
  const std::vector<float> z = {3e38f, -3e38f, 80, 0};
  for (const double alpha : kAlphas) {
    EXPECT_EQ(loss(z, {0}, alpha).value[0], 0);
    EXPECT_GT(loss(z, {1}, alpha).value[0], 3e38f);
  }
  // Softmax leaves p of about 1e-37 here, whose logarithm must not spoil the sums.
  const auto small = loss(std::vector<float>{0, -85, -87.3f, -90, -200}, {0}, 1);
  EXPECT_NEAR(small.value[0], 0, 1e-30);
  EXPECT_TRUE(std::isfinite(small.dalpha[0]));
}

}  // namespace
}  // namespace filigree
