#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "filigree/base/random.h"
#include "filigree/entmax/dropout.h"
#include "filigree/model/kernels/attention.h"
#include "filigree/model/kernels/cross_entropy.h"

namespace filigree::model {
namespace {

std::vector<float> random_floats(size_t size, uint64_t seed, double scale = 1) {
  Random random(seed);
  std::vector<float> values(size);
  for (float& v : values) v = static_cast<float>(scale * (2 * random.uniform() - 1));
  return values;
}

TEST(Dropout, VectorCodeDrawsTheSameMaskAsTheSpecification) {
  for (const int64_t size : {1, 7, 16, 33, 1000}) {
    const std::vector<float> x(static_cast<size_t>(size), 1.0f);
    std::vector<float> out(x.size());
    const uint64_t key = combine(3, static_cast<uint64_t>(size));
    dropout_add(x.data(), nullptr, out.data(), size, 0.3, key);
    const std::vector<double> wide(x.begin(), x.end());
    std::vector<double> expected(x.size());
    dropout_add(wide.data(), nullptr, expected.data(), size, 0.3, key);
    for (size_t i = 0; i < out.size(); ++i) {
      EXPECT_FLOAT_EQ(out[i], static_cast<float>(expected[i])) << i;
      EXPECT_EQ(out[i] != 0, dropout_bits(key, i) < 0.7 * 4294967295.0) << i;
    }
  }
}

TEST(Dropout, KeepsTheGivenShareAndScalesItUp) {
  constexpr int64_t kSize = 200'000;
  const std::vector<float> x(kSize, 1.0f);
  std::vector<float> out(x.size());
  for (const double p : {0.1, 0.3, 0.9}) {
    dropout_add(x.data(), nullptr, out.data(), kSize, p, mix(17));
    const double mean = std::accumulate(out.begin(), out.end(), 0.0) / kSize;
    // Six standard deviations of the mean of scaled Bernoulli variables.
    EXPECT_NEAR(mean, 1, 6 * std::sqrt(p / (1 - p) / kSize)) << p;
  }
}

TEST(Dropout, MasksOfDifferentKeysAndOfNeighboursAreIndependent) {
  constexpr int64_t kSize = 100'000;
  const std::vector<float> x(kSize, 0.5f);
  std::vector<float> a(x.size()), b(x.size());
  dropout_add(x.data(), nullptr, a.data(), kSize, 0.5, combine(1, 1));
  dropout_add(x.data(), nullptr, b.data(), kSize, 0.5, combine(1, 2));
  double across = 0, along = 0;
  for (size_t i = 0; i + 1 < a.size(); ++i) {
    across += (a[i] - 0.5) * (b[i] - 0.5);
    along += (a[i] - 0.5) * (a[i + 1] - 0.5);
  }
  const double bound = 6 * 0.25 / std::sqrt(kSize);
  EXPECT_LT(std::abs(across / kSize), bound);
  EXPECT_LT(std::abs(along / kSize), bound);
}

TEST(Dropout, AddsTheResidualAndWorksInPlace) {
  std::vector<float> x = random_floats(37, 1);
  const std::vector<float> residual = random_floats(37, 2);
  std::vector<float> dropped(x.size());
  dropout_add(x.data(), nullptr, dropped.data(), 37, 0.25, 9);
  dropout_add(x.data(), residual.data(), x.data(), 37, 0.25, 9);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_FLOAT_EQ(x[i], residual[i] + dropped[i]);
}

struct NaiveLoss {
  double loss, log_likelihood;
  std::vector<double> gradient;
};

NaiveLoss naive_cross_entropy(const std::vector<float>& logits, size_t gold, double smoothing) {
  double partition = 0, mean = 0;
  for (const float z : logits) partition += std::exp(double{z});
  for (const float z : logits) mean += (z - std::log(partition)) / logits.size();
  NaiveLoss result{0, logits[gold] - std::log(partition), {}};
  result.loss = -(1 - smoothing) * result.log_likelihood - smoothing * mean;
  for (size_t i = 0; i < logits.size(); ++i) {
    result.gradient.push_back(std::exp(double{logits[i]}) / partition - smoothing / logits.size() -
                              (i == gold ? 1 - smoothing : 0));
  }
  return result;
}

TEST(CrossEntropy, EqualsTheFormulaForEveryLength) {
  for (const size_t size : {1u, 3u, 16u, 31u, 1000u}) {
    for (const double smoothing : {0.0, 0.1}) {
      const std::vector<float> logits = random_floats(size, size, 5);
      const NaiveLoss expected = naive_cross_entropy(logits, size / 2, smoothing);
      std::vector<float> gradient = logits;
      const RowLoss row = cross_entropy_row(gradient.data(), static_cast<int64_t>(size),
                                            static_cast<int64_t>(size / 2), smoothing, 2.0f);
      EXPECT_NEAR(row.loss, expected.loss, 1e-5);
      EXPECT_NEAR(row.log_likelihood, expected.log_likelihood, 1e-5);
      for (size_t i = 0; i < size; ++i) EXPECT_NEAR(gradient[i], 2 * expected.gradient[i], 2e-6);
    }
  }
}

TEST(CrossEntropy, IsSafeForLogitsOfAnySize) {
  std::vector<float> logits = {3e4f, -3e4f, 3e4f, 0};
  const RowLoss row = cross_entropy_row(logits.data(), 4, 0, 0, 1.0f);
  EXPECT_NEAR(row.loss, std::log(2.0), 1e-6);
  EXPECT_THAT(logits, testing::ElementsAre(testing::FloatEq(-0.5f), 0, testing::FloatEq(0.5f), 0));
}

// A packed batch of random queries, keys and values, with its arrays.
struct RandomAttention {
  std::vector<int32_t> query_begin, query_length, key_begin, key_length;
  std::vector<double> query, key, value, alpha;
  AttentionInput<double> input{};

  RandomAttention(std::vector<int32_t> queries, std::vector<int32_t> keys, int64_t heads,
                  int64_t head_size, uint64_t seed)
      : query_length(std::move(queries)), key_length(std::move(keys)) {
    int32_t q = 0, k = 0;
    for (size_t s = 0; s < query_length.size(); ++s) {
      query_begin.push_back(q);
      key_begin.push_back(k);
      q += query_length[s];
      k += key_length[s];
    }
    Random random(seed);
    auto draw = [&](int64_t rows) {
      std::vector<double> values(static_cast<size_t>(rows * heads * head_size));
      for (double& v : values) v = 3 * (2 * random.uniform() - 1);
      return values;
    };
    query = draw(q);
    key = draw(k);
    value = draw(k);
    for (int64_t h = 0; h < heads; ++h) alpha.push_back(1 + 0.45 * static_cast<double>(h));
    input.sequences = static_cast<int64_t>(query_length.size());
    input.heads = heads;
    input.head_size = head_size;
    input.queries = {query_begin.data(), query_length.data()};
    input.keys = {key_begin.data(), key_length.data()};
    input.query = query.data();
    input.key = key.data();
    input.value = value.data();
    input.query_stride = input.key_stride = input.value_stride = heads * head_size;
    input.alpha = alpha.data();
  }
  std::vector<double> output(int64_t* nonzero = nullptr) const {
    std::vector<double> result(query.size());
    attention_forward(input, result.data(), input.query_stride, nullptr, nonzero);
    return result;
  }
};

// α-entmax of a row by bisection on the definition.
std::vector<double> naive_entmax(const std::vector<double>& z, double alpha) {
  const double top = *std::max_element(z.begin(), z.end());
  std::vector<double> p(z.size());
  if (alpha == 1) {
    double sum = 0;
    for (size_t i = 0; i < z.size(); ++i) sum += p[i] = std::exp(z[i] - top);
    for (double& v : p) v /= sum;
    return p;
  }
  double low = (alpha - 1) * top - 1, high = (alpha - 1) * top;
  for (int step = 0; step < 200; ++step) {
    const double tau = (low + high) / 2;
    double sum = 0;
    for (size_t i = 0; i < z.size(); ++i) {
      p[i] = std::pow(std::max(0.0, (alpha - 1) * z[i] - tau), 1 / (alpha - 1));
      sum += p[i];
    }
    (sum >= 1 ? low : high) = tau;
  }
  return p;
}

TEST(AttentionKernel, EqualsTheDefinition) {
  for (const bool causal : {false, true}) {
    RandomAttention a({3, 1, 7},
                      causal ? std::vector<int32_t>{3, 1, 7} : std::vector<int32_t>{5, 2, 4}, 3, 4,
                      11);
    a.input.causal = causal;
    std::vector<int64_t> nonzero(3, 0), expected_nonzero(3, 0);
    const std::vector<double> output = a.output(nonzero.data());
    for (size_t s = 0; s < a.query_length.size(); ++s) {
      for (int64_t h = 0; h < 3; ++h) {
        for (int32_t i = 0; i < a.query_length[s]; ++i) {
          const int32_t keys = causal ? i + 1 : a.key_length[s];
          const auto at = [&](const std::vector<double>& m, int32_t row, int64_t d) {
            return m[static_cast<size_t>(row * 12 + h * 4 + d)];
          };
          std::vector<double> z;
          for (int32_t j = 0; j < keys; ++j) {
            double dot = 0;
            for (int64_t d = 0; d < 4; ++d) {
              dot += at(a.query, a.query_begin[s] + i, d) * at(a.key, a.key_begin[s] + j, d);
            }
            z.push_back(dot / 2);
          }
          const std::vector<double> p = naive_entmax(z, a.alpha[static_cast<size_t>(h)]);
          for (const double w : p) expected_nonzero[static_cast<size_t>(h)] += w > 0;
          for (int64_t d = 0; d < 4; ++d) {
            double sum = 0;
            for (int32_t j = 0; j < keys; ++j) {
              sum += p[static_cast<size_t>(j)] * at(a.value, a.key_begin[s] + j, d);
            }
            EXPECT_NEAR(at(output, a.query_begin[s] + i, d), sum, 1e-10);
          }
        }
      }
    }
    EXPECT_EQ(nonzero, expected_nonzero);
  }
}

TEST(AttentionKernel, ASequenceDoesNotKnowTheOthersInItsBatch) {
  const RandomAttention together({4, 6}, {5, 3}, 2, 4, 5);
  RandomAttention alone = together;
  alone.input = together.input;
  alone.input.sequences = 1;
  alone.input.queries = {together.query_begin.data() + 1, together.query_length.data() + 1};
  alone.input.keys = {together.key_begin.data() + 1, together.key_length.data() + 1};
  const std::vector<double> both = together.output(), one = alone.output();
  for (size_t i = 4 * 8; i < both.size(); ++i) EXPECT_EQ(both[i], one[i]);
}

}  // namespace
}  // namespace filigree::model
