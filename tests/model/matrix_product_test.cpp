#include "filigree/model/kernels/matrix_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "filigree/base/random.h"
#include "tests/entmax/targets.h"

namespace filigree::model {
namespace {

template <typename T>
std::vector<T> random_values(int64_t size, uint64_t seed) {
  Random random(seed);
  std::vector<T> values(static_cast<size_t>(size));
  for (T& v : values) v = static_cast<T>(2 * random.uniform() - 1);
  return values;
}

template <typename T>
double entry(const Matrix<T>& m, int64_t i, int64_t j) {
  return m.data[i * m.row_step + j * m.column_step];
}

// A matrix of the given size in memory of its own, in either order and with a gap between lines.
template <typename T>
struct Stored {
  Stored(int64_t rows, int64_t columns, bool by_columns, uint64_t seed)
      : values(random_values<T>((by_columns ? columns : rows) * ((by_columns ? rows : columns) + 3),
                                seed)),
        matrix(by_columns ? Matrix<T>{values.data(), columns, rows, rows + 3}.transposed()
                          : Matrix<T>{values.data(), rows, columns, columns + 3}) {}
  std::vector<T> values;
  Matrix<T> matrix;
};

struct Sizes {
  int64_t m, n, k;
};
// Below, at and beyond tiles, strips and blocks.
const std::vector<Sizes> kSizes = {{1, 1, 1},    {3, 5, 2},    {8, 32, 16},   {9, 33, 17},
                                   {25, 25, 32}, {14, 64, 14}, {257, 47, 40}, {20, 70, 513}};

// |product − a b| is at most `relative` · Σ |a| |b| plus `absolute`.
struct Tolerance {
  double absolute, relative = 0;
};

template <typename T>
void expect_products(const Tolerance& limits, Precision precision = Precision::kFloat32) {
  for (const auto& [m, n, k] : kSizes) {
    for (const bool a_by_columns : {false, true}) {
      for (const bool b_by_columns : {false, true}) {
        const Stored<T> a(m, k, a_by_columns, 1), b(k, n, b_by_columns, 2);
        const std::vector<T> before = random_values<T>(m * (n + 2), 3);
        const std::vector<T> bias = random_values<T>(n, 4);
        const std::vector<T> where = random_values<T>(m * (n + 2), 5);
        std::vector<T> plain = before, full = before, gated = before;
        std::vector<T> sums(static_cast<size_t>(m), T(1));
        const Strips<T> strips(b.matrix, precision);
        multiply(a.matrix, strips, plain.data(), n + 2);
        multiply(a.matrix, strips, full.data(), n + 2,
                 {.scale = T(0.5), .accumulate = true, .bias = bias.data(), .relu = true},
                 a_by_columns ? sums.data() : nullptr);
        multiply(a.matrix, strips, gated.data(), n + 2, {.where = where.data()});
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < n + 2; ++j) {
            const auto at = static_cast<size_t>(i * (n + 2) + j);
            if (j >= n) {  // Beyond the matrix nothing is written.
              EXPECT_EQ(plain[at], before[at]);
              EXPECT_EQ(full[at], before[at]);
              continue;
            }
            double product = 0, size = 0;
            for (int64_t l = 0; l < k; ++l) {
              const double term = entry(a.matrix, i, l) * entry(b.matrix, l, j);
              product += term;
              size += std::abs(term);
            }
            const double tolerance = limits.absolute + limits.relative * size;
            const double finished = product / 2 + before[at] + bias[static_cast<size_t>(j)];
            ASSERT_NEAR(plain[at], product, tolerance) << m << " " << n << " " << k;
            ASSERT_NEAR(full[at], std::max(finished, 0.0), tolerance) << m << " " << n << " " << k;
            ASSERT_NEAR(gated[at], where[at] > 0 ? product : 0, tolerance);
          }
          if (!a_by_columns) continue;
          double sum = 1;
          for (int64_t l = 0; l < k; ++l) sum += entry(a.matrix, i, l);
          ASSERT_NEAR(sums[static_cast<size_t>(i)], sum, limits.absolute);
        }
      }
    }
  }
}

TEST(MatrixProduct, EqualsTheDefinitionForAllSizesAndOrders) {
  for (const int64_t set : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(set));
    const OnTarget on(set);
    expect_products<double>({1e-12});
    expect_products<float>({2e-5});
  }
}

#define FILIGREE_NEEDS(precision) \
  if (!has_tile_products(precision)) GTEST_SKIP() << "this processor has no such products"

TEST(MatrixProduct, TwoPartsANumberAreAsGoodAsSixteenBits) {
  FILIGREE_NEEDS(Precision::kBfloat16x3);
  expect_products<float>({2e-5, 3 * std::pow(2.0, -16)}, Precision::kBfloat16x3);
}

TEST(MatrixProduct, OnePartANumberIsBfloat16) {
  FILIGREE_NEEDS(Precision::kBfloat16);
  expect_products<float>({2e-5, std::pow(2.0, -7) + std::pow(2.0, -16)}, Precision::kBfloat16);
}

// Numbers of few bits have no second part, so that nothing may be lost.
TEST(MatrixProduct, SmallWholeNumbersAreMultipliedExactly) {
  FILIGREE_NEEDS(Precision::kBfloat16);
  for (const Precision precision : {Precision::kBfloat16x3, Precision::kBfloat16}) {
    for (const int64_t k : {1, 31, 33, 600}) {
      Stored<float> a(37, k, false, 1), b(k, 70, true, 2);
      for (std::vector<float>* values : {&a.values, &b.values}) {
        for (float& v : *values) v = std::round(20 * v);
      }
      std::vector<float> result(37 * 70);
      multiply(a.matrix, Strips<float>(b.matrix, precision), result.data(), 70);
      for (int64_t i = 0; i < 37; ++i) {
        for (int64_t j = 0; j < 70; ++j) {
          double product = 0;
          for (int64_t l = 0; l < k; ++l) product += entry(a.matrix, i, l) * entry(b.matrix, l, j);
          ASSERT_EQ(result[static_cast<size_t>(i * 70 + j)], product) << i << " " << j << " " << k;
        }
      }
    }
  }
}

TEST(MatrixProduct, RowsHaveTheSameBitsInAnyBatch) {
  const Stored<float> a(80, 300, false, 1), b(300, 40, false, 2);
  for (const Precision precision :
       {Precision::kFloat32, Precision::kBfloat16x3, Precision::kBfloat16}) {
    const Strips<float> strips(b.matrix, precision);
    std::vector<float> together(80 * 40), alone(40);
    multiply(a.matrix, strips, together.data(), 40);
    for (int64_t i = 0; i < 80; ++i) {
      multiply({a.matrix.data + i * a.matrix.row_step, 1, 300, a.matrix.row_step}, strips,
               alone.data(), 40);
      ASSERT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + i * 40)) << i;
    }
  }
}

TEST(MatrixProduct, WhatIsNotFiniteStaysSo) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Precision precision :
       {Precision::kFloat32, Precision::kBfloat16x3, Precision::kBfloat16}) {
    for (const float bad : {infinity, -infinity, std::nanf("")}) {
      Stored<float> a(20, 40, false, 1), b(40, 20, false, 2);
      a.values[3 * 43 + 7] = bad;
      std::vector<float> result(20 * 20);
      multiply(a.matrix, Strips<float>(b.matrix, precision), result.data(), 20);
      for (size_t i = 0; i < 20; ++i) {
        for (size_t j = 0; j < 20; ++j) EXPECT_EQ(std::isfinite(result[i * 20 + j]), i != 3);
      }
    }
  }
}

TEST(MatrixProduct, StripsCanBeFilledAgain) {
  Strips<float> strips;
  for (const int64_t columns : {70, 3, 40}) {
    for (const Precision precision : {Precision::kBfloat16x3, Precision::kFloat32}) {
      const Stored<float> a(4, 6, false, 1), b(6, columns, false, 2);
      strips.fill(b.matrix, precision);
      std::vector<float> again(static_cast<size_t>(4 * columns)), fresh = again;
      multiply(a.matrix, strips, again.data(), columns);
      multiply(a.matrix, Strips<float>(b.matrix, precision), fresh.data(), columns);
      EXPECT_EQ(again, fresh);
    }
  }
}

}  // namespace
}  // namespace filigree::model
