#include "filigree/translate/packed_matrix.h"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

#include "filigree/base/random.h"

namespace filigree::translate {
namespace {

std::vector<float> random_numbers(size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = static_cast<float>(2 * random.uniform() - 1);
  return numbers;
}

/// How far a product of an input and a weight may lie from the one it stands for, as a share of the
/// largest: bfloat16 may round both.
double rounding(Precision precision) {
  return precision == Precision::kFloat32    ? 0
         : precision == Precision::kBfloat16 ? 2.01 / 256
                                             : 0.5 / 127;
}

class EveryPrecision : public testing::TestWithParam<Precision> {};

TEST_P(EveryPrecision, ProductEqualsThePlainSum) {
  for (const int outputs : {1, 31, 32, 33, 100}) {
    for (const int inputs : {1, 5, 64}) {
      const auto weight = random_numbers(outputs * inputs, 1), bias = random_numbers(outputs, 2);
      const PackedMatrix matrix(weight.data(), bias.data(), outputs, inputs, GetParam());
      for (const int rows : {1, 2, 7, 12, 13, 40}) {
        const auto x = random_numbers(rows * inputs, 3), before = random_numbers(rows * outputs, 4);
        for (const Then then : {Then::kWrite, Then::kRelu, Then::kAdd}) {
          std::vector<float> y = before;
          multiply({matrix, x.data(), inputs, rows, y.data(), outputs, then});
          for (int r = 0; r < rows; ++r) {
            for (int o = 0; o < outputs; ++o) {
              double expected = bias[o], size = 0;
              for (int i = 0; i < inputs; ++i) {
                expected += double{x[r * inputs + i]} * weight[o * inputs + i];
                size += std::abs(x[r * inputs + i]);
              }
              if (then == Then::kRelu) expected = std::max(expected, 0.0);
              if (then == Then::kAdd) expected += before[r * outputs + o];
              EXPECT_NEAR(y[r * outputs + o], expected, 1e-5 + size * rounding(GetParam()));
            }
          }
        }
      }
    }
  }
}

TEST_P(EveryPrecision, ARowGivesTheSameBitsInEveryBatch) {
  constexpr int kOutputs = 70, kInputs = 200, kRows = 41;
  const auto weight = random_numbers(kOutputs * kInputs, 1), x = random_numbers(kRows * kInputs, 2);
  const PackedMatrix matrix(weight.data(), nullptr, kOutputs, kInputs, GetParam());
  std::vector<float> together(kRows * kOutputs), part(kRows * kOutputs);
  multiply({matrix, x.data(), kInputs, kRows, together.data(), kOutputs});
  for (int rows = 1; rows < kRows; ++rows) {
    const int first = kRows - rows;
    multiply({matrix, x.data() + first * kInputs, kInputs, rows, part.data(), kOutputs});
    for (int i = 0; i < rows * kOutputs; ++i) {
      ASSERT_EQ(part[i], together[first * kOutputs + i]) << rows << " rows";
    }
  }
}

TEST_P(EveryPrecision, SomePanelsGiveTheirColumnsOfTheProduct) {
  constexpr int kOutputs = 5 * 32 + 3, kInputs = 9, kRows = 3;
  const auto weight = random_numbers(kOutputs * kInputs, 1), x = random_numbers(kRows * kInputs, 2);
  const PackedMatrix matrix(weight.data(), nullptr, kOutputs, kInputs, GetParam());
  std::vector<float> whole(kRows * kOutputs), pieces(kRows * kOutputs);
  multiply({matrix, x.data(), kInputs, kRows, whole.data(), kOutputs});
  for (int panel = 0; panel < matrix.panels(); panel += 2) {
    multiply({matrix, x.data(), kInputs, kRows, pieces.data() + panel * PackedMatrix::kPanel,
              kOutputs, Then::kWrite, panel, std::min<int64_t>(2, matrix.panels() - panel)});
  }
  EXPECT_EQ(pieces, whole);
}

TEST_P(EveryPrecision, VectorsAloneGiveTheSameWithinTheRoundingOfInputs) {
  constexpr int kOutputs = 45, kInputs = 70, kRows = 37;
  const auto weight = random_numbers(kOutputs * kInputs, 1), x = random_numbers(kRows * kInputs, 2);
  const auto bias = random_numbers(kOutputs, 3);
  const PackedMatrix matrix(weight.data(), bias.data(), kOutputs, kInputs, GetParam());
  std::vector<float> y(kRows * kOutputs), by_vectors(kRows * kOutputs);
  multiply({matrix, x.data(), kInputs, kRows, y.data(), kOutputs});
  multiply_by_vectors({matrix, x.data(), kInputs, kRows, by_vectors.data(), kOutputs});
  const double tolerance = GetParam() == Precision::kBfloat16 ? kInputs / 256.0 : 0;
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], by_vectors[i], tolerance);
}

INSTANTIATE_TEST_SUITE_P(PackedMatrix, EveryPrecision,
                         testing::Values(Precision::kFloat32, Precision::kBfloat16,
                                         Precision::kInt8),
                         [](const auto& info) {
                           return info.param == Precision::kFloat32    ? "Float32"
                                  : info.param == Precision::kBfloat16 ? "Bfloat16"
                                                                       : "Int8";
                         });

TEST(PackedMatrix, TakesTheMemoryOfItsPrecision) {
  const std::vector<float> weight(64 * 32);
  const auto bytes = [&](Precision precision) {
    return PackedMatrix(weight.data(), nullptr, 64, 32, precision).bytes();
  };
  EXPECT_EQ(bytes(Precision::kFloat32), 64u * 32 * 4);
  EXPECT_EQ(bytes(Precision::kBfloat16), 64u * 32 * 2);
  EXPECT_EQ(bytes(Precision::kInt8), 64u * 32);
}

}  // namespace
}  // namespace filigree::translate
