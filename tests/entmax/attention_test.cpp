#include "filigree/entmax/attention.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>
#include <vector>

#include "filigree/entmax/dropout.h"
#include "filigree/entmax/entmax.h"
#include "filigree/entmax/operators.h"
#include "tests/entmax/tensors.h"

namespace filigree {
namespace {

using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Case {
  int64_t batch = 3, heads = 4, queries = 7, keys = 9;
  std::vector<int64_t> lengths;
  bool causal = false;
  double dropout = 0;
};

const Case kCases[] = {
    {},
    {3, 4, 7, 9, {9, 4, 0}},
    {3, 4, 9, 9, {}, true},
    {3, 4, 9, 9, {2, 9, 5}, true},
    {2, 4, 3, 40, {40, 38}, true},  // the last queries of a longer sequence
    {2, 4, 20, 20, {20, 11}, true, 0.3},
    {2, 4, 20, 20, {}, false, 0.5},
};

at::Tensor lengths_of(const Case& c) {
  return c.lengths.empty() ? at::Tensor() : at::tensor(c.lengths, at::kInt);
}

// [batch, 1, query, key], true where the query sees the key; by loops.
at::Tensor seen_of(const Case& c) {
  const at::Tensor seen = at::zeros({c.batch, 1, c.queries, c.keys}, at::kBool);
  for (int64_t b = 0; b < c.batch; ++b) {
    for (int64_t i = 0; i < c.queries; ++i) {
      for (int64_t j = 0; j < c.keys; ++j) {
        const bool exists = c.lengths.empty() || j < c.lengths[b];
        const bool before = !c.causal || j <= i + c.keys - c.queries;
        seen[b][0][i][j] = exists && before;
      }
    }
  }
  return seen;
}

at::Tensor kept_of(const Case& c, int64_t seed) {
  const at::Tensor kept = at::ones({c.batch * c.heads * c.queries * c.keys}, at::kDouble);
  for (int64_t i = 0; i < kept.numel(); ++i) {
    const bool keep = dropout_bits(static_cast<uint64_t>(seed), static_cast<uint64_t>(i)) <
                      dropout_threshold(c.dropout);
    kept[i] = keep ? 1 / (1 - c.dropout) : 0;
  }
  return kept.view({c.batch, c.heads, c.queries, c.keys});
}

at::Tensor by_parts(const Case& c, const at::Tensor& scores, const at::Tensor& alpha, double scale,
                    int64_t seed) {
  const at::Tensor masked = (scores * scale).masked_fill(seen_of(c).logical_not(), -kInfinity);
  const at::Tensor p = entmax(masked, alpha.view({-1, 1, 1}));
  return c.dropout > 0 ? p * kept_of(c, seed) : p;
}

struct Gradients {
  at::Tensor value, scores, alpha;
};

template <typename Function>
Gradients gradients_of(const at::Tensor& scores, const at::Tensor& alpha, Function&& function) {
  const at::Tensor z = scores.detach().clone().requires_grad_();
  const at::Tensor a = alpha.detach().clone().requires_grad_();
  const at::Tensor value = function(z, a);
  at::manual_seed(3);
  const at::Tensor cotangent = at::randn_like(value);
  const auto grads = torch::autograd::grad({value}, {z, a}, {cotangent});
  return {value.detach(), grads[0], grads[1]};
}

TEST(AttentionWeights, EqualScaleMaskTransformAndDropoutOneAfterTheOther) {
  constexpr int64_t kSeed = 0x123456789abcdef;
  for (const Case& c : kCases) {
    at::manual_seed(1);
    const at::Tensor scores = at::randn({c.batch, c.heads, c.queries, c.keys}, at::kDouble) * 3;
    const at::Tensor alpha = at::tensor({1.0, 1.3, 1.5, 2.5}, at::kDouble);
    const auto expected = gradients_of(
        scores, alpha, [&](const auto& z, const auto& a) { return by_parts(c, z, a, 0.7, kSeed); });
    const auto actual = gradients_of(scores, alpha, [&](const auto& z, const auto& a) {
      return attention_weights(z, a, 0.7, lengths_of(c), c.causal, c.dropout, kSeed);
    });
    const auto elsewhere = gradients_of(scores, alpha, [&](const auto& z, const auto& a) {
      return entmax_operators::attention_weights_composite(z, a, 0.7, lengths_of(c), c.causal,
                                                           c.dropout, kSeed);
    });
    for (const Gradients& found : {actual, elsewhere}) {
      EXPECT_LT((found.value - expected.value).abs().max().item<double>(), 1e-13);
      EXPECT_LT((found.scores - expected.scores).abs().max().item<double>(), 1e-12);
      EXPECT_LT((found.alpha - expected.alpha).abs().max().item<double>(), 1e-10);
    }
  }
}

TEST(AttentionWeights, WhatIsOutOfSightIsNotRead) {
  const Case c{2, 4, 9, 9, {3, 9}, true};
  at::manual_seed(1);
  const at::Tensor scores = at::randn({c.batch, c.heads, c.queries, c.keys});
  const at::Tensor alpha = at::tensor({1.0, 1.3, 1.5, 2.5}, at::kDouble);
  const at::Tensor out_of_sight = seen_of(c).logical_not();
  const at::Tensor spoilt = scores.masked_fill(out_of_sight, kNaN);
  const auto weights = [&](const at::Tensor& z) {
    return attention_weights(z, alpha, 1, lengths_of(c), c.causal);
  };
  EXPECT_TRUE(at::equal(weights(spoilt), weights(scores)));
  EXPECT_EQ(weights(spoilt).masked_select(out_of_sight).abs().max().item<double>(), 0);
}

TEST(AttentionWeights, InPlaceGivesTheSameInTheMemoryOfTheScores) {
  const Case c{2, 4, 9, 9, {3, 9}, true};
  const at::Tensor alpha = at::tensor({1.0, 1.3, 1.5, 2.5}, at::kDouble);
  at::manual_seed(1);
  const at::Tensor scores = at::randn({c.batch, c.heads, c.queries, c.keys}, at::kDouble);
  const auto expected = gradients_of(scores, alpha, [&](const auto& z, const auto& a) {
    return attention_weights(z * 2, a, 0.5, lengths_of(c), c.causal);
  });
  const auto actual = gradients_of(scores, alpha, [&](const auto& z, const auto& a) {
    at::Tensor buffer = z * 2;
    const void* const memory = buffer.data_ptr();
    attention_weights_(buffer, a, 0.5, lengths_of(c), c.causal);
    EXPECT_EQ(buffer.data_ptr(), memory);
    return buffer;
  });
  EXPECT_TRUE(at::equal(actual.value, expected.value));
  EXPECT_TRUE(at::equal(actual.scores, expected.scores));
  EXPECT_TRUE(at::equal(actual.alpha, expected.alpha));
}

TEST(AttentionWeights, HalfTypesKeepTheirTypeAndComputeInFloat) {
  at::manual_seed(1);
  const at::Tensor scores = at::randn({2, 4, 5, 6}).to(at::kBFloat16);
  const at::Tensor alpha = at::full({4}, 1.5);
  const at::Tensor p = attention_weights(scores, alpha);
  EXPECT_EQ(p.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal(p, attention_weights(scores.to(at::kFloat), alpha).to(at::kBFloat16)));
}

TEST(AttentionWeights, SaysWhatDoesNotFit) {
  const at::Tensor scores = at::zeros({2, 4, 5, 6}), alpha = at::full({4}, 1.5);
  EXPECT_THAT(message_of([&] { attention_weights(scores[0], alpha); }),
              HasSubstr("scores must be [batch, head, query, key]"));
  EXPECT_THAT(message_of([&] { attention_weights(scores, at::full({3}, 1.5)); }),
              HasSubstr("one per head (4)"));
  EXPECT_THAT(message_of([&] { attention_weights(scores, at::full({4}, 0.5)); }),
              HasSubstr("alpha must be at least 1"));
  EXPECT_THAT(message_of([&] {
                attention_weights(scores, alpha, 1, at::tensor({6, 7}));
              }),
              HasSubstr("sequence 1 has 7"));
  EXPECT_THAT(message_of([&] { attention_weights(scores, alpha, 1, {}, false, 1.0); }),
              HasSubstr("dropout must be in [0, 1)"));
}

}  // namespace
}  // namespace filigree
