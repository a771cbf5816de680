#include "filigree/translate/row_attention.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <vector>

#include "filigree/base/random.h"
#include "filigree/entmax/kernels.h"

namespace filigree::translate {
namespace {

// Sizes that fill vectors, and sizes that leave a tail for every vector length.
class RowAttentionTest : public testing::TestWithParam<int> {};

TEST_P(RowAttentionTest, EqualsThePlainSum) {
  const int head_size = GetParam(), heads = 3, width = heads * head_size, pool = 9, rows = 5;
  Random random(head_size);
  const auto fill = [&](std::vector<float>& values) {
    for (float& value : values) value = static_cast<float>(4 * random.uniform() - 2);
  };
  std::vector<float> queries(rows * width), memory(pool * 2 * width);
  fill(queries);
  fill(memory);
  const std::vector<int32_t> lengths = {4, 1, 7, 3, 7};
  std::vector<std::vector<const float*>> keys(rows);
  std::vector<const float* const*> keys_of_row;
  for (int r = 0; r < rows; ++r) {
    for (int j = 0; j < lengths[r]; ++j) {
      keys[r].push_back(memory.data() + random.below(pool) * 2 * width);
    }
    keys_of_row.push_back(keys[r].data());
  }
  const std::vector<double> alpha = {1.0, 1.5, 1.9};
  std::vector<float> weights, context(rows * width);
  const RowAttention attention = {
      rows, heads, head_size,      queries.data(), width, keys_of_row.data(),
      0,    width, lengths.data(), alpha.data()};
  attend(attention, weights, context.data());
  const auto pitch = attention.pitch();
  ASSERT_GE(pitch, 7);

  for (int h = 0; h < heads; ++h) {
    for (int r = 0; r < rows; ++r) {
      std::vector<double> p(lengths[r]);
      for (int j = 0; j < lengths[r]; ++j) {
        double sum = 0;
        for (int d = h * head_size; d < (h + 1) * head_size; ++d) {
          sum += double{queries[r * width + d]} * keys[r][j][d];
        }
        p[j] = sum / std::sqrt(double(head_size));
      }
      entmax_kernels::forward({1, lengths[r], lengths[r]}, p.data(), alpha[h], p.data());
      for (int j = 0; j < pitch; ++j) {
        EXPECT_NEAR(weights[(h * rows + r) * pitch + j], j < lengths[r] ? p[j] : 0, 1e-5);
      }
      for (int d = h * head_size; d < (h + 1) * head_size; ++d) {
        double expected = 0;
        for (int j = 0; j < lengths[r]; ++j) expected += p[j] * keys[r][j][width + d];
        EXPECT_NEAR(context[r * width + d], expected, 2e-5);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(HeadSize, RowAttentionTest, testing::Values(1, 3, 8, 16, 31, 32, 64, 100));

TEST(RowAttention, ValuesOfZeroWeightAreNotRead) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> near = {8, 8, 1, 2}, far = {-8, -8, kNan, kNan}, query = {1, 1};
  const std::vector<const float*> keys = {near.data(), far.data()};
  const float* const* const row = keys.data();
  const int32_t length = 2;
  const double alpha = 2;
  std::vector<float> weights, context(2);
  attend({1, 1, 2, query.data(), 2, &row, 0, 2, &length, &alpha}, weights, context.data());
  EXPECT_THAT(context, testing::ElementsAre(1, 2));
}

// The same keys for rows of lengths on both sides of every choice that depends on a length.
TEST(RowAttention, ARowGivesTheSameBitsWhateverRowsAreBesideIt) {
  constexpr int kHeads = 2, kHeadSize = 16, kWidth = kHeads * kHeadSize;
  const std::vector<int32_t> lengths = {1, 3, 17, 255, 256, 257, 300, 4, 5};
  Random random(11);
  std::vector<float> memory(300 * 2 * kWidth), queries(lengths.size() * kWidth);
  for (float& value : memory) value = static_cast<float>(2 * random.uniform() - 1);
  for (float& value : queries) value = static_cast<float>(4 * random.uniform() - 2);
  std::vector<const float*> keys;
  for (int j = 0; j < 300; ++j) keys.push_back(memory.data() + j * 2 * kWidth);
  const std::vector<const float* const*> keys_of_row(lengths.size(), keys.data());
  for (const std::vector<double>& alpha : {std::vector{1.0, 1.5}, {2.0, 1.3}, {2.5, 1.0}}) {
    const auto rows = static_cast<int64_t>(lengths.size());
    std::vector<float> weights, together(queries.size()), alone(kWidth);
    attend({rows, kHeads, kHeadSize, queries.data(), kWidth, keys_of_row.data(), 0, kWidth,
            lengths.data(), alpha.data()},
           weights, together.data());
    for (int64_t r = 0; r < rows; ++r) {
      attend({1, kHeads, kHeadSize, queries.data() + r * kWidth, kWidth, keys_of_row.data(), 0,
              kWidth, lengths.data() + r, alpha.data()},
             weights, alone.data());
      EXPECT_EQ(alone, std::vector<float>(together.begin() + r * kWidth,
                                          together.begin() + (r + 1) * kWidth))
          << "length " << lengths[r] << ", alpha " << alpha[0];
    }
  }
}

}  // namespace
}  // namespace filigree::translate
