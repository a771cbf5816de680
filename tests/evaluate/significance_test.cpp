#include "filigree/evaluate/significance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "filigree/base/error.h"
#include "filigree/base/random.h"
#include "filigree/evaluate/bleu.h"
#include "filigree/evaluate/chrf.h"

namespace filigree::evaluate {
namespace {

using testing::Each;

constexpr Resampling kResampling{.samples = 200, .seed = 12345};

// Sentences of invented words, and copies in which each word is wrong with some probability.
struct Corpus {
  Segments references;

  explicit Corpus(int segments) {
    Random random(1);
    for (int i = 0; i < segments; ++i) {
      std::string text;
      for (int word = 0; word < 12; ++word) text += fmt::format("w{} ", random.below(50));
      references.push_back(text);
    }
  }
  Segments with_errors(double rate, uint64_t seed) const {
    Random random(seed);
    Segments copies;
    for (const auto& reference : references) {
      std::string copy;
      for (size_t begin = 0; begin < reference.size();) {
        const size_t end = reference.find(' ', begin) + 1;
        copy += random.uniform() < rate ? "wrong " : reference.substr(begin, end - begin);
        begin = end;
      }
      copies.push_back(copy);
    }
    return copies;
  }
};

class Significance : public testing::TestWithParam<bool> {
 protected:
  const Metric& metric() const {
    if (GetParam()) return bleu_;
    return chrf_;
  }
  SegmentCounts counts(double error_rate, uint64_t seed) const {
    return count_segments(metric(), corpus_.with_errors(error_rate, seed), {corpus_.references});
  }

 private:
  Corpus corpus_{100};
  Bleu bleu_;
  Chrf chrf_;
};

INSTANTIATE_TEST_SUITE_P(, Significance, testing::Bool(),
                         [](const auto& info) { return info.param ? "Bleu" : "Chrf"; });

TEST_P(Significance, IntervalHoldsTheScore) {
  const SegmentCounts system = counts(0.2, 2);
  const double score = metric().score(system.sum());
  const ConfidenceInterval interval = bootstrap_confidence(metric(), system, kResampling);
  EXPECT_LT(interval.lower, score);
  EXPECT_GT(interval.upper, score);
  EXPECT_NEAR(interval.mean, score, interval.half_width());
}

TEST_P(Significance, TheSeedDecidesTheResamples) {
  const SegmentCounts system = counts(0.2, 2);
  const auto scores = bootstrap_scores(metric(), system, kResampling);
  EXPECT_EQ(scores, bootstrap_scores(metric(), system, kResampling));
  EXPECT_NE(scores, bootstrap_scores(metric(), system, {.samples = 200, .seed = 1}));
}

TEST_P(Significance, FewerSamplesAreAPrefix) {
  const SegmentCounts system = counts(0.2, 2);
  auto scores = bootstrap_scores(metric(), system, kResampling);
  scores.resize(50);
  EXPECT_EQ(scores, bootstrap_scores(metric(), system, {.samples = 50, .seed = 12345}));
}

TEST_P(Significance, EqualSystemsHavePValueOne) {
  const SegmentCounts system = counts(0.2, 2);
  EXPECT_EQ(paired_bootstrap_test(metric(), system, system, kResampling), 1);
}

TEST_P(Significance, SystemsOfEqualQualityDoNotDiffer) {
  EXPECT_GT(paired_bootstrap_test(metric(), counts(0.2, 2), counts(0.2, 3), kResampling), 0.05);
}

TEST_P(Significance, AClearlyBetterSystemDiffers) {
  const double p = paired_bootstrap_test(metric(), counts(0.1, 2), counts(0.3, 3), kResampling);
  EXPECT_LT(p, 0.05);
  EXPECT_GE(p, 1. / 201);
}

TEST_P(Significance, TheOrderOfTheSystemsDoesNotMatter) {
  const SegmentCounts a = counts(0.2, 2), b = counts(0.22, 3);
  EXPECT_EQ(paired_bootstrap_test(metric(), a, b, kResampling),
            paired_bootstrap_test(metric(), b, a, kResampling));
}

TEST_P(Significance, OneSegmentHasNoSpread) {
  SegmentCounts one;
  one.width = counts(0.2, 2).width;
  const auto row = metric().count("a b c d e", std::vector<std::string_view>{"a b c d f"});
  one.values = row;
  const double score = metric().score(one.sum());
  EXPECT_THAT(bootstrap_scores(metric(), one, kResampling), Each(score));
}

TEST(ConfidenceInterval, CutsAFortiethOffEachEnd) {
  std::vector<double> scores;
  for (int i = 100; i > 0; --i) scores.push_back(i);
  const ConfidenceInterval interval = confidence_interval(scores);
  EXPECT_EQ(interval.lower, 3);
  EXPECT_EQ(interval.upper, 98);
  EXPECT_EQ(interval.half_width(), 47.5);
  EXPECT_EQ(interval.mean, 50.5);
}

TEST(PairedPValue, CountsCentredDifferencesAsLargeAsTheObservedOne) {
  // Absolute differences 0, 1, 2, 5 have mean 2; centred −2, −1, 0, 3.
  const std::vector<double> system = {0, 1, -2, 5}, baseline = {0, 0, 0, 0};
  EXPECT_DOUBLE_EQ(paired_p_value(3, system, baseline), 2. / 5);
  EXPECT_DOUBLE_EQ(paired_p_value(3.1, system, baseline), 1. / 5);
  EXPECT_DOUBLE_EQ(paired_p_value(0, system, baseline), 3. / 5);
}

TEST(Bootstrap, NothingToResampleIsRefused) {
  const SegmentCounts counts = count_segments(Bleu(), {"a"}, {{"a"}});
  EXPECT_THROW(bootstrap_scores(Bleu(), counts, {.samples = 0}), UsageError);
  EXPECT_THROW(bootstrap_scores(Bleu(), SegmentCounts{}), Error);
  EXPECT_THROW(
      paired_bootstrap_test(Bleu(), counts, count_segments(Bleu(), {"a", "b"}, {{"a", "b"}})),
      Error);
}

}  // namespace
}  // namespace filigree::evaluate
