// Rows beside each other: blocks, lengths, strides, memory, and instruction sets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "filigree/entmax/kernels.h"
#include "tests/entmax/kernel_rows.h"
#include "tests/entmax/targets.h"

namespace filigree {
namespace {

using ::testing::Each;

template <typename T>
class EntmaxRows : public ::testing::Test {};
TYPED_TEST_SUITE(EntmaxRows, Scalars);

TYPED_TEST(EntmaxRows, ARowGivesTheSameBitsAloneAndInABlock) {
  for (int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    const OnTarget on(target);
    for (int64_t n : {1, 5, 33, 128, 129, 256, 257}) {
      for (double alpha : kAlphas) {
        const auto z = random_scores<TypeParam>(37 * n, 3);
        const auto block = forward(z, alpha, 37);
        for (int64_t r = 0; r < 37; ++r) {
          const auto row = z.begin() + r * n, p = block.p.begin() + r * n;
          const auto lone = forward(std::vector<TypeParam>(row, row + n), alpha);
          EXPECT_EQ(std::vector<TypeParam>(p, p + n), lone.p);
          EXPECT_EQ(block.tau[r], lone.tau[0]);
        }
      }
    }
  }
}

TEST(EntmaxByRow, ARowGivesTheBitsThatItGivesWithOneAlpha) {
  for (int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    const OnTarget on(target);
    for (int64_t n : {1, 7, 40, 256, 257}) {
      for (const int64_t same : {1, 2, 5, 21}) {  // rows of one α
        const auto rows = static_cast<int64_t>(std::size(kAlphas)) * same;
        const auto z = random_scores<float>(rows * n, 6);
        std::vector<double> alpha;
        for (double a : kAlphas) alpha.insert(alpha.end(), static_cast<size_t>(same), a);
        std::vector<float> p(z.size());
        entmax_kernels::forward_by_row({rows, n, n}, z.data(), alpha.data(), p.data());
        for (int64_t r = 0; r < rows; ++r) {
          const auto row = z.begin() + r * n;
          const auto of_row = p.begin() + r * n;
          const auto lone =
              forward(std::vector<float>(row, row + n), alpha[static_cast<size_t>(r)]);
          EXPECT_EQ(std::vector<float>(of_row, of_row + n), lone.p)
              << alpha[static_cast<size_t>(r)];
        }
      }
    }
  }
}

// Up to 256 entries a row is solved in a lane, longer ones along the lanes.
TYPED_TEST(EntmaxRows, MaskedEntriesAtTheEndChangeNothing) {
  for (int64_t n : {1, 9, 60}) {
    for (double alpha : kAlphas) {
      auto z = random_scores<TypeParam>(n, 13);
      auto p = forward(z, alpha).p;
      for (int64_t length : {80, 200}) {
        z.resize(length, TypeParam(-kInfinity));
        p.resize(length, 0);
        expect_near(forward(z, alpha).p, p, kTolerance<TypeParam>);
      }
    }
  }
}

TYPED_TEST(EntmaxRows, EveryInstructionSetAgrees) {
  using T = TypeParam;
  for (int64_t n : {3, 40, 200}) {
    const auto z = random_scores<T>(20 * n, 4), dp = random_scores<T>(20 * n, 5, 1);
    for (double alpha : kAlphas) {
      const auto p = forward(z, alpha, 20);
      const auto gradients = backward(p.p, dp, alpha, 20);
      for (int64_t target : hwy::SupportedAndGeneratedTargets()) {
        SCOPED_TRACE(hwy::TargetName(target));
        const OnTarget on(target);
        expect_near(forward(z, alpha, 20).p, p.p, kTolerance<TypeParam>);
        if (alpha > 2) continue;  // gradients near the threshold magnify the last digit
        const auto other = backward(p.p, dp, alpha, 20);
        expect_near(other.dz, gradients.dz, 10 * kTolerance<TypeParam>);
        expect_near(other.dalpha, gradients.dalpha, 10 * kTolerance<TypeParam>);
      }
    }
  }
}

TYPED_TEST(EntmaxRows, LengthsAndStrideLimitWhatIsReadAndWritten) {
  using T = TypeParam;
  const std::vector<int32_t> lengths = {5, 0, 3, 1, 4, 5, 2, 5, 5, 1, 0, 5, 3, 3, 2, 4, 5};
  const int64_t rows = static_cast<int64_t>(lengths.size()), size = 5, stride = 7;
  for (double alpha : kAlphas) {
    auto z = random_scores<T>(rows * stride, 8);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = lengths[r]; i < stride; ++i) z[r * stride + i] = T(kNaN);
    }
    std::vector<T> p(rows * stride, -7), dz = p;
    std::vector<int64_t> support(rows);
    const entmax_kernels::Rows shape{rows, size, stride, lengths.data()};
    entmax_kernels::forward(shape, z.data(), alpha, p.data(), nullptr, support.data());
    entmax_kernels::backward(shape, p.data(), z.data(), alpha, dz.data());
    for (int64_t r = 0; r < rows; ++r) {
      const auto row = p.begin() + r * stride, gradient = dz.begin() + r * stride;
      const std::vector<T> scores(z.begin() + r * stride, z.begin() + r * stride + lengths[r]);
      const std::vector<T> used(row, row + lengths[r]), tail(row + lengths[r], row + size);
      expect_near(used, forward(scores, alpha).p, kTolerance<TypeParam>);
      EXPECT_THAT(tail, Each(T(0)));
      EXPECT_THAT(std::vector<T>(gradient + lengths[r], gradient + size), Each(T(0)));
      EXPECT_THAT(std::vector<T>(row + size, row + stride), Each(T(-7)));
      EXPECT_THAT(std::vector<T>(gradient + size, gradient + stride), Each(T(-7)));
      EXPECT_EQ(support[r] > 0, lengths[r] > 0);
    }
  }
}

TYPED_TEST(EntmaxRows, WorksInPlace) {
  using T = TypeParam;
  for (int64_t n : {6, 40, 300}) {
    for (double alpha : kAlphas) {
      const auto z = random_scores<T>(20 * n, 2), dp = random_scores<T>(20 * n, 3);
      const auto p = forward(z, alpha, 20);
      auto in_place = z;
      entmax_kernels::forward({20, n, n}, in_place.data(), alpha, in_place.data());
      EXPECT_EQ(in_place, p.p);
      in_place = dp;
      entmax_kernels::backward({20, n, n}, p.p.data(), in_place.data(), alpha, in_place.data());
      EXPECT_EQ(in_place, backward(p.p, dp, alpha, 20).dz);
    }
  }
}

TEST(EntmaxKernelRows, NoRowsAndEmptyRowsAreFine) {
  entmax_kernels::forward({0, 5, 5}, static_cast<const float*>(nullptr), 1.3, nullptr);
  float tau[2];
  int64_t support[2];
  entmax_kernels::forward({2, 0, 0}, static_cast<const float*>(nullptr), 1.3, nullptr, tau,
                          support);
  EXPECT_EQ(support[0], 0);
  EXPECT_EQ(tau[1], std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace filigree
