// Scores that are infinite, huge or no numbers, and α far from 1: in their row, and beside others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "filigree/entmax/kernels.h"
#include "tests/entmax/kernel_rows.h"

namespace filigree {
namespace {

using ::testing::Eq;

template <typename T>
class EntmaxSpecialValues : public ::testing::Test {};
TYPED_TEST_SUITE(EntmaxSpecialValues, Scalars);

// 16 rows, of which row 3 holds the given scores, beside rows that must not be touched by them.
template <typename T>
void expect_row_of_this_length(const std::vector<double>& scores,
                               const std::vector<double>& expected) {
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

// Also with masked entries behind, because long rows are solved in other ways than short ones.
template <typename T>
void expect_row(std::vector<double> scores, std::vector<double> expected) {
  const double rest = std::isnan(expected[0]) ? kNaN : 0;
  for (const size_t length : {scores.size(), size_t{30}, size_t{90}, size_t{300}}) {
    SCOPED_TRACE(length);
    scores.resize(length, -kInfinity);
    expected.resize(length, rest);
    expect_row_of_this_length<T>(scores, expected);
  }
}

TYPED_TEST(EntmaxSpecialValues, MinusInfinityMasks) {
  expect_row<TypeParam>({-kInfinity, 7, -kInfinity}, {0, 1, 0});
  expect_row<TypeParam>({2, -kInfinity, 2, -kInfinity}, {.5, 0, .5, 0});
}

TYPED_TEST(EntmaxSpecialValues, FullyMaskedRowIsZero) {
  expect_row<TypeParam>({-kInfinity, -kInfinity}, {0, 0});
  const auto out = forward(std::vector<TypeParam>(4, TypeParam(-kInfinity)), 1.5);
  EXPECT_EQ(out.tau[0], TypeParam(kInfinity));
  EXPECT_EQ(out.support[0], 0);
}

TYPED_TEST(EntmaxSpecialValues, NaNStaysInItsRow) {
  expect_row<TypeParam>({0, kNaN, 1}, {kNaN, kNaN, kNaN});
  expect_row<TypeParam>({kNaN}, {kNaN});
}

TYPED_TEST(EntmaxSpecialValues, PlusInfinityTakesTheMass) {
  expect_row<TypeParam>({1, kInfinity, -kInfinity}, {0, 1, 0});
  expect_row<TypeParam>({kInfinity, 5, kInfinity, -5}, {.5, 0, .5, 0});
}

TYPED_TEST(EntmaxSpecialValues, AnyMagnitudeIsSafe) {
  const double huge = std::numeric_limits<TypeParam>::max();
  expect_row<TypeParam>({huge, -huge, huge}, {.5, 0, .5});
  expect_row<TypeParam>({-huge, -huge}, {.5, .5});
  expect_row<TypeParam>({1e9, 1e9 - 4096, -1e9}, {1, 0, 0});
}

TYPED_TEST(EntmaxSpecialValues, VeryLargeAlphaStaysADistribution) {
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

TYPED_TEST(EntmaxSpecialValues, OffTheSupportTheCotangentDoesNotMatter) {
  const std::vector<TypeParam> p = {0.25, 0, 0.75, 0};
  const std::vector<TypeParam> dp = {1, TypeParam(kNaN), 2, TypeParam(kInfinity)};
  for (double alpha : kAlphas) {
    const auto out = backward(p, dp, alpha);
    EXPECT_THAT(out.dz[1], Eq(0));
    EXPECT_THAT(out.dz[3], Eq(0));
    EXPECT_TRUE(std::isfinite(out.dz[0]) && std::isfinite(out.dalpha[0]));
  }
}

}  // namespace
}  // namespace filigree
