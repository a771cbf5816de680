#include "filigree/inspect/bootstrap.h"

#include <gtest/gtest.h>

#include <cmath>

#include "filigree/base/random.h"

namespace filigree::inspect {
namespace {

TEST(Bootstrap, IntervalsHaveTheWidthOfTheNormalApproximation) {
  // 400 sentences whose values have deviation 1/√12: the mean's 95 % interval is ± 1.96/√(12·400).
  Bootstrap bootstrap(1000, 3);
  Random random(9);
  for (int i = 0; i < 400; ++i) {
    const Mean value{random.uniform(), 1};
    bootstrap.add(static_cast<uint64_t>(i), {&value, 1});
  }
  const Interval interval = interval_of(bootstrap.values(0));
  const double half = 1.96 / std::sqrt(12.0 * 400);
  EXPECT_NEAR(interval.high - interval.low, 2 * half, 0.25 * half);
  EXPECT_NEAR((interval.high + interval.low) / 2, 0.5, 2 * half);
}

TEST(Bootstrap, WithoutVariationTheIntervalIsAPoint) {
  Bootstrap bootstrap(200, 1);
  const std::vector<Mean> same = {{0.3 * 5, 5}, {2, 1}};
  for (uint64_t i = 0; i < 50; ++i) bootstrap.add(i, same);
  for (const auto& [quantity, value] : {std::pair{0, 0.3}, std::pair{1, 2.0}}) {
    const Interval interval = interval_of(bootstrap.values(static_cast<size_t>(quantity)));
    EXPECT_NEAR(interval.low, value, 1e-12);
    EXPECT_NEAR(interval.high, value, 1e-12);
  }
}

TEST(Bootstrap, TheSameSentencesAreResampledAlike) {
  Bootstrap one(100, 5), two(100, 5);
  Random random(2);
  for (uint64_t line = 1; line <= 30; ++line) {
    const double value = random.uniform();
    const Mean a{value, 1}, b{value + 1, 1};
    one.add(line, {&a, 1});
    two.add(line, {&b, 1});
  }
  const auto a = one.values(0), b = two.values(0);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(b[i] - a[i], 1, 1e-12);
}

}  // namespace
}  // namespace filigree::inspect
