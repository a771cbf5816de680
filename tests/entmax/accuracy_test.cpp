// What float costs: the kernels in float32 against float64, which the golden values vouch for.
// FILIGREE_FULL_GRID=1 takes every α and size and prints the worst errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "filigree/base/random.h"
#include "filigree/entmax/kernels.h"
#include "tests/entmax/targets.h"

namespace filigree {
namespace {

bool full_grid() { return std::getenv("FILIGREE_FULL_GRID") != nullptr; }

std::vector<double> alphas() {
  if (!full_grid()) {
    return {1, 1 + 0x1p-20, 1.001, 1.02, 1.1, 1.33, 1.5, 1.7, 1.95, 1.999, 2, 2.001, 2.5, 4};
  }
  std::vector<double> list = {1, 1 + 0x1p-20, 1.001, 1.01, 1.02, 1.999, 2.001};
  for (int i = 21; i <= 80; ++i) list.push_back(i * 0.05);
  return list;
}

std::vector<int64_t> sizes() {
  if (!full_grid()) return {1, 2, 5, 20, 64, 200, 256, 257, 1000};
  return {1,   2,   3,   5,   8,   16,  20,  31,   32,   33,  64,
          100, 128, 200, 256, 257, 300, 512, 1000, 2048, 5000};
}

// Normal values, by the method of Box and Muller.
std::vector<float> normal(int64_t n, uint64_t seed, double deviation) {
  Random random(seed);
  std::vector<float> values(n);
  for (float& value : values) {
    const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
    value = static_cast<float>(deviation * radius * std::cos(6.283185307179586 * random.uniform()));
  }
  return values;
}

template <typename T>
std::vector<T> forward(const std::vector<float>& scores, double alpha, int64_t rows) {
  const int64_t size = static_cast<int64_t>(scores.size()) / rows;
  const std::vector<T> z(scores.begin(), scores.end());
  std::vector<T> p(z.size());
  entmax_kernels::forward({rows, size, size}, z.data(), alpha, p.data());
  return p;
}

template <typename T>
struct Gradients {
  std::vector<T> dz;
  std::vector<double> dalpha;
};

template <typename T, typename P>
Gradients<T> backward(const std::vector<P>& given, const std::vector<float>& cotangent,
                      double alpha, int64_t rows) {
  const int64_t size = static_cast<int64_t>(given.size()) / rows;
  const std::vector<T> p(given.begin(), given.end()), dp(cotangent.begin(), cotangent.end());
  Gradients<T> out{std::vector<T>(p.size()), std::vector<double>(rows)};
  entmax_kernels::backward({rows, size, size}, p.data(), dp.data(), alpha, out.dz.data(),
                           out.dalpha.data());
  return out;
}

void raise(double& worst, double value) {
  if (!(value <= worst)) worst = value;  // also to NaN
}

struct Errors {
  double absolute = 0;  ///< of p
  double relative = 0;  ///< of p > 1e-6
  double inherent = 0;  ///< the same in units of what rounding u to float does
  double dz = 0;        ///< from the same p, relative to the largest of its row if above 1
  double dalpha = 0;    ///< from the same p, relative to itself if above 1
  double dz_whole = 0;  ///< from the same scores
  double dalpha_whole = 0;
};

// p = u^{1/ε} where u = 1 − ε (θ − t): half a unit in the last place of p and of ε (θ − t).
double rounding(double p, double epsilon) {
  const double l = -std::log(p), x = epsilon * l;
  const double below = epsilon == 0 ? l : std::expm1(x) / epsilon;  // (1 − u) / (ε u)
  return 0x1p-24 * (1 + below);
}

void compare_p(const std::vector<float>& actual, const std::vector<double>& expected,
               double epsilon, Errors& errors) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const double error = std::abs(actual[i] - expected[i]);
    raise(errors.absolute, error);
    if (expected[i] <= 1e-6) continue;
    raise(errors.relative, error / expected[i]);
    raise(errors.inherent, error / expected[i] / rounding(expected[i], epsilon));
  }
}

void compare_gradients(const Gradients<float>& actual, const Gradients<double>& expected,
                       double& dz, double& dalpha) {
  const size_t rows = expected.dalpha.size(), n = expected.dz.size() / rows;
  for (size_t r = 0; r < rows; ++r) {
    raise(dalpha, std::abs(actual.dalpha[r] - expected.dalpha[r]) /
                      std::max(1.0, std::abs(expected.dalpha[r])));
    double scale = 1;
    for (size_t i = r * n; i < (r + 1) * n; ++i) {
      scale = std::max(scale, std::abs(expected.dz[i]));
    }
    for (size_t i = r * n; i < (r + 1) * n; ++i) {
      raise(dz, std::abs(actual.dz[i] - expected.dz[i]) / scale);
    }
  }
}

// One lane adds up a row in one chain. (The kernels leave SSSE3 out, which then is scalar too.)
bool is_scalar(int64_t target) { return target == HWY_SCALAR || target == HWY_SSSE3; }

// The worst over all instruction sets that are scalar or not.
Errors measure(double alpha, bool scalar) {
  constexpr int64_t kRows = 8;
  Errors errors;
  for (const int64_t n : sizes()) {
    for (const double deviation : {0.1, 1.0, 4.0, 30.0}) {
      const auto z = normal(kRows * n, combine(n, 10 * deviation), deviation);
      const auto dp = normal(kRows * n, n, 1);
      const auto exact = forward<double>(z, alpha, kRows);
      const auto exact_gradients = backward<double>(exact, dp, alpha, kRows);
      for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
        if (is_scalar(target) != scalar) continue;
        const OnTarget on(target);
        const auto p = forward<float>(z, alpha, kRows);
        compare_p(p, exact, alpha - 1, errors);
        const auto gradients = backward<float>(p, dp, alpha, kRows);
        compare_gradients(gradients, backward<double>(p, dp, alpha, kRows), errors.dz,
                          errors.dalpha);
        compare_gradients(gradients, exact_gradients, errors.dz_whole, errors.dalpha_whole);
      }
    }
  }
  return errors;
}

constexpr char kHeader[] =
    "alpha    absolute relative inherent dz       dalpha   dz whole dalpha whole\n";

void print(double alpha, const Errors& e) {
  std::cout << std::left << std::setprecision(4) << std::setw(9) << alpha << std::setprecision(2);
  for (double v :
       {e.absolute, e.relative, e.inherent, e.dz, e.dalpha, e.dz_whole, e.dalpha_whole}) {
    std::cout << std::setw(9) << v;
  }
  std::cout << std::setprecision(6) << std::endl;
}

TEST(EntmaxAccuracy, FloatIsCloseToDouble) {
  if (full_grid()) std::cout << kHeader;
  for (const bool scalar : {false, true}) {
    const double slack = scalar ? 5 : 1;
    for (const double alpha : alphas()) {
      SCOPED_TRACE("alpha " + std::to_string(alpha) + (scalar ? ", scalar" : ""));
      const Errors e = measure(alpha, scalar);
      if (full_grid()) print(alpha, e);
      EXPECT_LE(e.absolute, scalar ? 5e-7 : 3e-7);
      EXPECT_LE(e.inherent, scalar ? 8 : 6);
      EXPECT_LE(e.dz, slack * 3e-6);
      EXPECT_LE(e.dalpha, slack * 6e-6);
      // In between, s = p^{2−α} falls steeply to 0 at the threshold, and no bound holds.
      if (alpha > 1.3 && alpha <= 2) continue;
      EXPECT_LE(e.dz_whole, slack * 3e-6);
      EXPECT_LE(e.dalpha_whole, slack * 6e-6);
    }
  }
}

TEST(EntmaxAccuracy, LongRowsSumToOne) {
  constexpr int64_t kSize = 32000;
  for (const double alpha : alphas()) {
    for (const double deviation : {0.01, 1.0, 30.0}) {
      const auto z = normal(kSize, 1, deviation);
      for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
        const OnTarget on(target);
        const auto p = forward<float>(z, alpha, 1);
        EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1, is_scalar(target) ? 4e-6 : 1e-6)
            << "alpha " << alpha << " deviation " << deviation << " " << hwy::TargetName(target);
      }
    }
  }
}

// Sparsemax scores in blocks, each a little below the threshold that Newton's method has come to
// once the block after it is gone: every step removes one block only.
std::vector<float> slow_row(size_t n, double share, double first_gap, double growth, size_t ties) {
  std::vector<double> t(ties, 0.0);
  double total = 0, gap = first_gap;
  while (t.size() < n) {
    const auto size = static_cast<double>(t.size());
    const double value = (total - 1) / size - gap;
    for (auto block = std::max(1.0, std::round(size * (1 / share - 1))); block > 0 && t.size() < n;
         --block) {
      t.push_back(value);
      total += value;
    }
    gap *= growth;
  }
  return {t.begin(), t.end()};
}

TEST(EntmaxAccuracy, RowsThatNeedManyStepsAreNoLessExact) {
  for (const size_t n : {16, 64, 200, 256, 300, 1024}) {
    for (const double share : {0.5, 0.7, 0.75, 0.9}) {
      for (const int exponent : {-40, -30, -25, -23, -21, -18, -15}) {
        for (const double growth : {1.5, 2.5, 4.0, 6.0, 16.0}) {
          for (const size_t ties : {1, 2, 3, 4}) {
            const auto z = slow_row(n, share, std::ldexp(1, exponent), growth, ties);
            for (const double alpha : {1.9, 1.99, 1.9999, 2.0}) {
              Errors errors;
              compare_p(forward<float>(z, alpha, 1), forward<double>(z, alpha, 1), alpha - 1,
                        errors);
              EXPECT_LE(errors.absolute, 3e-7)
                  << "size " << n << " share " << share << " gap 2^" << exponent << " growth "
                  << growth << " ties " << ties << " alpha " << alpha;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace filigree
