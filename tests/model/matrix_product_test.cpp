#include "filigree/model/kernels/matrix_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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

template <typename T>
void expect_products(double tolerance) {
  for (const auto& [m, n, k] : kSizes) {
    for (const bool a_by_columns : {false, true}) {
      for (const bool b_by_columns : {false, true}) {
        const Stored<T> a(m, k, a_by_columns, 1), b(k, n, b_by_columns, 2);
        const std::vector<T> before = random_values<T>(m * (n + 2), 3);
        const std::vector<T> bias = random_values<T>(n, 4);
        const std::vector<T> where = random_values<T>(m * (n + 2), 5);
        std::vector<T> plain = before, full = before, gated = before;
        std::vector<T> sums(static_cast<size_t>(m), T(1));
        const Strips<T> strips(b.matrix);
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
            double product = 0;
            for (int64_t l = 0; l < k; ++l)
              product += entry(a.matrix, i, l) * entry(b.matrix, l, j);
            const double finished = product / 2 + before[at] + bias[static_cast<size_t>(j)];
            ASSERT_NEAR(plain[at], product, tolerance) << m << " " << n << " " << k;
            ASSERT_NEAR(full[at], std::max(finished, 0.0), tolerance) << m << " " << n << " " << k;
            ASSERT_NEAR(gated[at], where[at] > 0 ? product : 0, tolerance);
          }
          if (!a_by_columns) continue;
          double sum = 1;
          for (int64_t l = 0; l < k; ++l) sum += entry(a.matrix, i, l);
          ASSERT_NEAR(sums[static_cast<size_t>(i)], sum, tolerance);
        }
      }
    }
  }
}

TEST(MatrixProduct, EqualsTheDefinitionForAllSizesAndOrders) {
  for (const int64_t set : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(set));
    const OnTarget on(set);
    expect_products<double>(1e-12);
    expect_products<float>(2e-5);
  }
}

TEST(MatrixProduct, StripsCanBeFilledAgain) {
  Strips<float> strips;
  for (const int64_t columns : {70, 3, 40}) {
    const Stored<float> a(4, 6, false, 1), b(6, columns, false, 2);
    strips.fill(b.matrix);
    std::vector<float> again(static_cast<size_t>(4 * columns)), fresh = again;
    multiply(a.matrix, strips, again.data(), columns);
    multiply(a.matrix, Strips<float>(b.matrix), fresh.data(), columns);
    EXPECT_EQ(again, fresh);
  }
}

}  // namespace
}  // namespace filigree::model
