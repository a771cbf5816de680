#include "filigree/model/functions.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "filigree/entmax/entmax.h"
#include "filigree/entmax/loss.h"
#include "tests/gradcheck.h"
#include "tests/model/packing.h"

namespace filigree::model {
namespace {

at::Tensor random(at::IntArrayRef shape, int64_t seed) {
  torch::manual_seed(seed);
  return torch::randn(shape, at::kDouble);
}

TEST(Embed, ScalesTheRowAndAddsThePosition) {
  const Sequences sequences = sequences_of({2, 1});
  const at::Tensor weight = random({8, 4}, 1);
  const at::Tensor x = embed(sequences, weight, 0, 0);
  const at::Tensor positions = position_table(2, 4).to(at::kDouble);
  EXPECT_TRUE(torch::allclose(x[0], weight[4] * 2 + positions[0]));
  EXPECT_TRUE(torch::allclose(x[1], weight[5] * 2 + positions[1]));
  EXPECT_TRUE(torch::allclose(x[2], weight[6] * 2 + positions[0]));
}

TEST(Embed, PositionsFollowThePaper) {
  const at::Tensor table = position_table(10, 6);
  EXPECT_NEAR(table[3][0].item<double>(), std::sin(3.0), 1e-6);
  EXPECT_NEAR(table[3][1].item<double>(), std::cos(3.0), 1e-6);
  EXPECT_NEAR(table[7][4].item<double>(), std::sin(7 / std::pow(10000, 4.0 / 6)), 1e-6);
  EXPECT_GE(position_table(700, 6).size(0), 700);
}

TEST(Embed, GradientsAddUpOverRepeatedTokens) {
  const std::vector<std::vector<int32_t>> tokens = {{1, 2, 1}, {1}};
  const Sequences sequences = pack({tokens.begin(), tokens.end()}, -1, -1);
  for (const double dropout : {0.0, 0.5}) {
    expect_gradients(
        [&](const std::vector<at::Tensor>& x) { return embed(sequences, x[0], dropout, 3); },
        {random({3, 4}, 2)});
  }
}

TEST(LinearLoss, EqualsTorchsLabelSmoothedLoss) {
  // More positions than one block holds.
  const at::Tensor hidden = random({600, 5}, 8), weight = random({11, 5}, 9);
  const at::Tensor gold = torch::randint(0, 11, {600}, at::kInt);
  for (const double smoothing : {0.0, 0.1}) {
    LossSums sums;
    const at::Tensor loss =
        linear_loss(hidden, weight, gold, {.label_smoothing = smoothing, .scale = 1.0 / 600}, sums);
    const at::Tensor logits = hidden.matmul(weight.t());
    const at::Tensor expected = torch::nn::functional::cross_entropy(
        logits, gold.to(at::kLong),
        torch::nn::functional::CrossEntropyFuncOptions().label_smoothing(smoothing));
    EXPECT_NEAR(loss.item<double>(), expected.item<double>(), 1e-12);
    EXPECT_NEAR(sums.loss / 600, expected.item<double>(), 1e-12);
    EXPECT_EQ(sums.tokens, 600);
    const at::Tensor likelihood =
        torch::log_softmax(logits, 1).gather(1, gold.to(at::kLong).unsqueeze(1)).sum();
    EXPECT_NEAR(sums.log_likelihood, likelihood.item<double>(), 1e-9);
  }
}

TEST(LinearLoss, GradientsAreRight) {
  const at::Tensor gold = torch::tensor({0, 3, 2, 2}, at::kInt);
  expect_gradients(
      [&](const std::vector<at::Tensor>& x) {
        LossSums sums;
        return linear_loss(x[0], x[1], gold, {.label_smoothing = 0.1, .scale = 0.25}, sums);
      },
      {random({4, 5}, 10), random({6, 5}, 11)});
}

TEST(LinearLoss, EqualsTheEntmaxLossForASparseOutput) {
  const at::Tensor hidden = random({300, 5}, 8), weight = random({11, 5}, 9);
  const at::Tensor gold = torch::randint(0, 11, {300}, at::kInt);
  const at::Tensor logits = hidden.matmul(weight.t());
  for (const double alpha : {1.2, 1.5, 2.0}) {
    for (const double smoothing : {0.0, 0.1}) {
      LossSums sums;
      const at::Tensor loss =
          linear_loss(hidden, weight, gold,
                      {.alpha = alpha, .label_smoothing = smoothing, .scale = 1.0 / 300}, sums);
      const at::Tensor expected =
          filigree::entmax_loss(logits, gold, alpha, -1, at::Reduction::Mean, -100, smoothing);
      EXPECT_NEAR(loss.item<double>(), expected.item<double>(), 1e-12);
      EXPECT_NEAR(sums.loss / 300, expected.item<double>(), 1e-12);
      EXPECT_EQ(sums.tokens, 300);
      const at::Tensor p = filigree::entmax(logits, alpha);
      const at::Tensor of_gold = p.gather(1, gold.to(at::kLong).unsqueeze(1));
      EXPECT_GT((of_gold == 0).sum().item<int64_t>(), 0);
      EXPECT_NEAR(sums.log_likelihood, ((of_gold + 0.01 / 11) / 1.01).log().sum().item<double>(),
                  1e-9);
    }
  }
}

TEST(LinearLoss, GradientsAreRightForASparseOutput) {
  const at::Tensor gold = torch::tensor({0, 3, 2, 2}, at::kInt);
  for (const double alpha : {1.2, 1.5, 2.0}) {
    expect_gradients(
        [&](const std::vector<at::Tensor>& x) {
          LossSums sums;
          return linear_loss(x[0], x[1], gold,
                             {.alpha = alpha, .label_smoothing = 0.1, .scale = 0.25}, sums);
        },
        {random({4, 5}, 10), random({6, 5}, 11)});
  }
}

}  // namespace
}  // namespace filigree::model
