#include "filigree/base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace filigree {
namespace {

TEST(Random, SameKeySameNumbers) {
  Random a(7), b(7), c(8);
  EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(a.next(), c.next());
}

// Fixed for ever: checkpoints and the demo corpus depend on it. These are the first outputs that
// SplitMix64 is known to give from the seed 1234567.
TEST(Random, MixIsSplitMix64) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;
  EXPECT_EQ(mix(1234567), 6457827717110365317u);
  EXPECT_EQ(mix(1234567 + kGolden), 3203168211198807973u);
  EXPECT_EQ(mix(1234567 + 2 * kGolden), 9817491932198370423u);
}

TEST(Random, StreamsOfNeighbouringKeysDiffer) {
  std::set<uint64_t> seen;
  for (uint64_t key = 0; key < 1000; ++key) {
    Random random(combine(1, key));
    for (int i = 0; i < 10; ++i) seen.insert(random.next());
  }
  EXPECT_EQ(seen.size(), 10'000u);
}

TEST(Random, CombineDependsOnOrder) { EXPECT_NE(combine(1, 2), combine(2, 1)); }

TEST(Random, BelowIsUniform) {
  Random random(3);
  std::vector<int> counts(10);
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) ++counts.at(random.below(10));
  double chi_square = 0;
  for (const int count : counts) {
    chi_square += (count - kDraws / 10.0) * (count - kDraws / 10.0) / (kDraws / 10.0);
  }
  EXPECT_LT(chi_square, 27.9);  // The 0.1 % point at 9 degrees of freedom.
}

TEST(Random, BelowOneIsZero) { EXPECT_EQ(Random(5).below(1), 0u); }

TEST(Random, UniformHasItsMoments) {
  Random random(4);
  double sum = 0, squares = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.005);
  EXPECT_NEAR(squares / kDraws, 1.0 / 3, 0.005);
}

TEST(Random, ShuffleIsAPermutationThatDependsOnTheKey) {
  std::vector<int> a(100), b(100);
  std::iota(a.begin(), a.end(), 0);
  b = a;
  const std::vector<int> sorted = a;
  Random(1).shuffle(a);
  Random(2).shuffle(b);
  EXPECT_NE(a, sorted);
  EXPECT_NE(a, b);
  std::sort(a.begin(), a.end());
  EXPECT_EQ(a, sorted);
}

TEST(Random, ShuffleOfThreeReachesEveryOrderEqually) {
  std::vector<int> counts(6);
  for (uint64_t key = 0; key < 60'000; ++key) {
    std::vector<int> values = {0, 1, 2};
    Random(key).shuffle(values);
    ++counts.at(static_cast<size_t>(values[0] * 2 + (values[1] > values[2])));
  }
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
}

TEST(Random, ShuffleTakesEmptyAndSingle) {
  std::vector<int> none, one = {1};
  Random(1).shuffle(none);
  Random(1).shuffle(one);
  EXPECT_EQ(one, std::vector<int>{1});
}

}  // namespace
}  // namespace filigree
