#include "filigree/translate/row_kernels.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "filigree/base/random.h"

namespace filigree::translate {
namespace {

std::vector<float> random_numbers(size_t count, double scale) {
  Random random(count);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = static_cast<float>(scale * (2 * random.uniform() - 1));
  return numbers;
}

TEST(LayerNorm, EqualsItsDefinition) {
  for (const int width : {1, 7, 16, 33, 512}) {
    const auto x = random_numbers(3 * width, 5);
    const auto weight = random_numbers(width, 2), bias = random_numbers(width, 1);
    std::vector<float> y = x;
    layer_norm(y.data(), 3, width, weight.data(), bias.data(), y.data());
    for (int r = 0; r < 3; ++r) {
      double mean = 0, variance = 0;
      for (int i = 0; i < width; ++i) mean += x[r * width + i] / double(width);
      for (int i = 0; i < width; ++i) {
        variance += std::pow(x[r * width + i] - mean, 2) / double(width);
      }
      for (int i = 0; i < width; ++i) {
        const double expected =
            weight[i] * (x[r * width + i] - mean) / std::sqrt(variance + 1e-6) + bias[i];
        EXPECT_NEAR(y[r * width + i], expected, 2e-5);
      }
    }
  }
}

TEST(LogSumExp, OfPiecesEqualsThatOfTheWhole) {
  for (const int size : {1, 15, 64, 100, 1000}) {
    for (const int piece : {64, 256}) {
      auto values = random_numbers(size, 30);
      values[size / 2] = -std::numeric_limits<float>::infinity();
      if (size == 1) values[0] = 3;
      LogSumExp sum;
      std::vector<float> maxima(size / 64 + 2);
      for (int begin = 0; begin < size; begin += piece) {
        sum.add(values.data() + begin, std::min(piece, size - begin), 64,
                maxima.data() + begin / 64);
      }
      double expected = 0;
      for (const float value : values) expected += std::exp(double{value});
      EXPECT_NEAR(sum.value(), std::log(expected), 1e-5);
      for (int begin = 0; begin < size; begin += 64) {
        EXPECT_EQ(
            maxima[begin / 64],
            *std::max_element(values.begin() + begin, values.begin() + std::min(begin + 64, size)));
      }
    }
  }
}

TEST(LogSumExp, IsNanWhenANumberIs) {
  for (const int place : {0, 5, 99}) {
    std::vector<float> values(100, -1.0f);
    values[place] = std::numeric_limits<float>::quiet_NaN();
    LogSumExp sum;
    std::vector<float> maxima(2);
    sum.add(values.data(), 100, 64, maxima.data());
    EXPECT_TRUE(std::isnan(sum.value()));
  }
}

TEST(LogSumExp, OfNothingButMinusInfinityIsMinusInfinity) {
  const std::vector<float> values(20, -std::numeric_limits<float>::infinity());
  LogSumExp sum;
  float maximum = 0;
  sum.add(values.data(), 20, 64, &maximum);
  EXPECT_EQ(sum.value(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(maximum, values[0]);
}

TEST(LogAdd, AddsWhatTheLogarithmsStandFor) {
  constexpr float kZero = -std::numeric_limits<float>::infinity();
  Random random(6);
  for (const int size : {1, 7, 64, 101}) {
    std::vector<float> a(size), b(size), sums;
    for (int i = 0; i < size; ++i) {
      a[i] = i % 3 == 0 ? kZero : static_cast<float>(-200 * random.uniform());
      b[i] = i % 2 == 0 ? kZero : static_cast<float>(-200 * random.uniform());
    }
    sums = a;
    log_add(b.data(), 2, size, sums.data());
    for (int i = 0; i < size; ++i) {
      const double x = a[i], y = b[i] - 2.0, more = std::max(x, y);
      if (std::isinf(more)) {
        EXPECT_EQ(sums[i], kZero);
      } else {
        EXPECT_NEAR(sums[i], more + std::log(std::exp(x - more) + std::exp(y - more)), 1e-4) << i;
      }
    }
  }
}

}  // namespace
}  // namespace filigree::translate
