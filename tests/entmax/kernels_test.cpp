// What the kernels compute: published values, and properties that hold for every row.
#include "filigree/entmax/kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tests/entmax/kernel_rows.h"

namespace filigree {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;

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
class EntmaxProperties : public ::testing::Test {};
TYPED_TEST_SUITE(EntmaxProperties, Scalars);

TYPED_TEST(EntmaxProperties, SumsToOne) {
  for_random_rows<TypeParam>([&](const auto& z, double alpha) {
    EXPECT_NEAR(sum(forward(z, alpha).p), 1, kTolerance<TypeParam>);
  });
}

TYPED_TEST(EntmaxProperties, KeepsTheOrderOfScores) {
  for_random_rows<TypeParam>([](const auto& z, double alpha) {
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
  for_random_rows<TypeParam>([&](auto z, double alpha) {
    for (auto& v : z) v = std::round(v * 64) / 64;  // so that adding 32 loses nothing
    const auto p = forward(z, alpha).p;
    for (auto& v : z) v += 32;
    EXPECT_EQ(forward(z, alpha).p, p);
  });
}

TYPED_TEST(EntmaxProperties, FollowsAPermutation) {
  for_random_rows<TypeParam>([&](auto z, double alpha) {
    auto p = forward(z, alpha).p;
    std::reverse(z.begin(), z.end());
    std::reverse(p.begin(), p.end());
    expect_near(forward(z, alpha).p, p, kTolerance<TypeParam>);
  });
}

TYPED_TEST(EntmaxProperties, CountsTheSupport) {
  for_random_rows<TypeParam>([](const auto& z, double alpha) {
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
  for_random_rows<TypeParam>([&](const auto& z, double alpha) {
    const auto p = forward(z, alpha).p;
    const auto dz = backward(p, random_scores<TypeParam>(z.size(), 5, 1), alpha).dz;
    double scale = 1;
    for (auto v : dz) scale = std::max<double>(scale, std::abs(v));
    EXPECT_NEAR(sum(dz), 0, scale * z.size() * kTolerance<TypeParam>);
  });
}

TYPED_TEST(EntmaxProperties, ConstantCotangentHasNoGradient) {
  for_random_rows<TypeParam>([&](const auto& z, double alpha) {
    const auto p = forward(z, alpha).p;
    const auto out = backward(p, std::vector<TypeParam>(z.size(), 3), alpha);
    EXPECT_NEAR(out.dalpha[0], 0, (alpha > 2 ? 1000 : 50) * kTolerance<TypeParam>);
  });
}

TYPED_TEST(EntmaxProperties, AlphaNearOneApproachesSoftmax) {
  const auto z = random_scores<TypeParam>(30, 6);
  const auto softmax = forward(z, 1).p;
  for (double distance : {1e-4, 1e-7, 1e-12, 0x1p-52}) {
    const auto p = forward(z, 1 + distance).p;
    expect_near(p, softmax, 10 * distance + kTolerance<TypeParam>);
    const std::vector<TypeParam> dp = random_scores<TypeParam>(30, 7);
    EXPECT_NEAR(backward(p, dp, 1 + distance).dalpha[0], backward(softmax, dp, 1).dalpha[0],
                30 * distance + 20 * kTolerance<TypeParam>);
  }
}

}  // namespace
}  // namespace filigree
