// Rows for the tests of the kernels, and the kernels on plain vectors.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "filigree/base/random.h"
#include "filigree/entmax/kernels.h"

namespace filigree {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kAlphas[] = {1, 1 + 0x1p-20, 1.05, 1.3, 1.5, 1.8, 1.999, 2, 2.5, 4};

using Scalars = ::testing::Types<float, double>;

/// What rounding may do to p.
template <typename T>
constexpr double kTolerance = sizeof(T) == 4 ? 3e-6 : 1e-12;

template <typename T>
struct Forward {
  std::vector<T> p, tau;
  std::vector<int64_t> support;
};

/// Of `rows` rows of one length.
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

/// Normal scores, by the method of Box and Muller.
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

/// Calls check(z, α) for rows of many lengths and scales.
template <typename T, typename Check>
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

}  // namespace filigree
