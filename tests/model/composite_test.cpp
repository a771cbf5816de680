// The kernels' functions against the same in tensor operations, values and gradients, in float64.
#include "filigree/model/composite.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/gradcheck.h"
#include "tests/model/packing.h"

namespace filigree::model {
namespace {

at::Tensor random(at::IntArrayRef shape, int64_t seed) {
  torch::manual_seed(seed);
  return torch::randn(shape, at::kDouble);
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  return a.numel() == 0 ? 0 : (a - b).abs().max().item<double>();
}

void expect_equal(const TensorFunction& kernels, const TensorFunction& composite,
                  const std::vector<at::Tensor>& inputs) {
  const at::Tensor value = kernels(inputs), expected = composite(inputs);
  ASSERT_EQ(value.sizes(), expected.sizes());
  EXPECT_LT(distance(value, expected), 1e-12);
  const at::Tensor cotangent = random(value.sizes(), 99);
  const auto gradients = gradients_of(kernels, inputs, cotangent);
  const auto expected_gradients = gradients_of(composite, inputs, cotangent);
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_LT(distance(gradients[i], expected_gradients[i]), 1e-11) << "input " << i;
  }
}

// A key with bits in both halves.
constexpr uint64_t kKey = 0x9123456789abcdef;

TEST(Composite, EmbedEqualsTheKernels) {
  const std::vector<std::vector<int32_t>> tokens = {{1, 2, 1}, {0}, {3, 1, 1, 2, 0}};
  const Sequences sequences = pack({tokens.begin(), tokens.end()}, -1, -1);
  for (const double dropout : {0.0, 0.4}) {
    expect_equal([&](const auto& x) { return embed(sequences, x[0], dropout, kKey); },
                 [&](const auto& x) { return composite::embed(sequences, x[0], dropout, kKey); },
                 {random({4, 6}, 1)});
  }
}

TEST(Composite, AddNormEqualsTheKernelsWithTheSameMask) {
  for (const uint64_t key : {uint64_t{0}, uint64_t{0xffffffff}, ~uint64_t{0}, kKey}) {
    for (const double dropout : {0.0, 0.1, 0.5, 0.9}) {
      const std::vector<at::Tensor> inputs = {random({40, 50}, 2), random({40, 50}, 3),
                                              random({50}, 4), random({50}, 5)};
      const auto kept = [&](const Normed& step) { return (step.sum - inputs[1]).abs() > 1e-9; };
      EXPECT_TRUE(torch::equal(
          kept(add_norm(inputs[0], inputs[1], {inputs[2], inputs[3]}, dropout, key)),
          kept(composite::add_norm(inputs[0], inputs[1], {inputs[2], inputs[3]}, dropout, key))));
      expect_equal(
          [&](const auto& i) {
            const Normed step = add_norm(i[0], i[1], {i[2], i[3]}, dropout, key);
            return torch::cat({step.sum, step.normed});
          },
          [&](const auto& i) {
            const Normed step = composite::add_norm(i[0], i[1], {i[2], i[3]}, dropout, key);
            return torch::cat({step.sum, step.normed});
          },
          inputs);
    }
  }
}

TEST(Composite, LayerNormEqualsTheKernels) {
  expect_equal(
      [](const auto& i) {
        return LayerNorm{i[1], i[2]}(i[0]);
      },
      [](const auto& i) {
        return composite::layer_norm(i[0], {i[1], i[2]});
      },
      {random({7, 9}, 4), random({9}, 5), random({9}, 6)});
}

TEST(Composite, LinearLossEqualsTheKernels) {
  const at::Tensor gold = torch::randint(0, 11, {300}, at::kInt);
  for (const double alpha : {1.0, 1.3, 1.5, 2.0}) {
    for (const double smoothing : {0.0, 0.1}) {
      const LossOptions options{.alpha = alpha, .label_smoothing = smoothing, .scale = 0.25};
      LossSums kernels, plain;
      const auto both = {random({300, 5}, 7), random({11, 5}, 8)};
      expect_equal(
          [&](const auto& i) { return linear_loss(i[0], i[1], gold, options, kernels = {}); },
          [&](const auto& i) {
            return composite::linear_loss(i[0], i[1], gold, options, plain = {});
          },
          both);
      EXPECT_NEAR(kernels.loss, plain.loss, 1e-9);
      EXPECT_NEAR(kernels.log_likelihood, plain.log_likelihood, 1e-9);
      EXPECT_EQ(kernels.tokens, plain.tokens);
    }
  }
}

AttentionOptions four_heads(bool causal, double dropout) {
  AttentionOptions options;
  options.heads = 4;
  options.causal = causal;
  options.dropout = dropout;
  options.dropout_key = kKey;
  return options;
}

const at::Tensor kAlphas = torch::tensor({1.0, 1.4, 1.5, 2.0}, at::kDouble);

// Among them a sequence of several blocks, some of whose weights the kernels keep compressed.
TEST(Composite, SelfAttentionEqualsTheKernels) {
  const Sequences sequences = sequences_of({4, 1, 110, 7, 3});
  for (const bool causal : {false, true}) {
    for (const double dropout : {0.0, 0.3}) {
      const AttentionOptions options = four_heads(causal, dropout);
      expect_equal(
          [&](const auto& i) { return self_attention(i[0], i[1], sequences, options); },
          [&](const auto& i) { return composite::self_attention(i[0], i[1], sequences, options); },
          {random({125, 24}, 9), kAlphas});
    }
  }
}

TEST(Composite, CrossAttentionEqualsTheKernels) {
  const Sequences target = sequences_of({2, 5, 60, 1}), source = sequences_of({6, 90, 50, 3});
  for (const double dropout : {0.0, 0.3}) {
    const AttentionOptions options = four_heads(false, dropout);
    expect_equal(
        [&](const auto& i) { return cross_attention(i[0], i[1], i[2], target, source, options); },
        [&](const auto& i) {
          return composite::cross_attention(i[0], i[1], i[2], target, source, options);
        },
        {random({68, 8}, 10), random({149, 16}, 11), kAlphas});
  }
}

TEST(Composite, NonzeroWeightsAreCountedAndRecordedAsByTheKernels) {
  const Sequences target = sequences_of({2, 5, 60, 1}), source = sequences_of({6, 90, 50, 3});
  const at::Tensor query = random({68, 8}, 12), key_value = random({149, 16}, 13);
  std::vector<int64_t> kernels(4, 100), plain(4, 100);
  std::vector<at::Tensor> recorded, expected;
  AttentionOptions options = four_heads(false, 0);
  options.nonzero = kernels.data();
  options.record = [&](int64_t, const at::Tensor& weights) { expected.push_back(weights.clone()); };
  cross_attention(query, key_value, kAlphas, target, source, options);
  options.nonzero = plain.data();
  options.record = [&](int64_t sequence, const at::Tensor& weights) {
    EXPECT_EQ(sequence, static_cast<int64_t>(recorded.size()));
    recorded.push_back(weights);
  };
  composite::cross_attention(query, key_value, kAlphas, target, source, options);
  EXPECT_EQ(plain, kernels);
  EXPECT_LT(plain[3], 100 + 2 * 6 + 5 * 90 + 60 * 50 + 1 * 3);
  ASSERT_EQ(recorded.size(), expected.size());
  for (size_t s = 0; s < recorded.size(); ++s) EXPECT_LT(distance(recorded[s], expected[s]), 1e-12);
}

}  // namespace
}  // namespace filigree::model
