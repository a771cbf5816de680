// Gradients of the loss, first and second, against differences and at α = 1.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <vector>

#include "filigree/entmax/loss.h"
#include "tests/entmax/loss_tensors.h"
#include "tests/gradcheck.h"

namespace filigree {
namespace {

class EntmaxLossGradient : public ::testing::TestWithParam<double> {};

TEST_P(EntmaxLossGradient, EqualsDifferences) {
  const double value = GetParam();
  const at::Tensor z = normal({4, 7}) * 1.5;
  const at::Tensor y = targets({3, 0, -100, 6});
  const at::Tensor alpha = at::scalar_tensor(value, at::kDouble);
  for (const double smoothing : {0.0, 0.2}) {
    for (const int64_t reduction : {at::Reduction::None, at::Reduction::Mean}) {
      const TensorFunction of_scores = [&](const auto& x) {
        return entmax_loss(x[0], y, value, -1, reduction, -100, smoothing);
      };
      const TensorFunction of_both = [&](const auto& x) {
        return entmax_loss(x[0], y, x[1], -1, reduction, -100, smoothing);
      };
      expect_gradients(of_scores, {z});
      expect_second_gradients(of_scores, {z});
      if (value - 1 < 1e-5) continue;  // differences would need α below 1
      expect_gradients(of_both, {z, alpha}, 1e-6, 1e-6);
      expect_second_gradients(of_both, {z, alpha}, 1e-5, 1e-5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Alphas, EntmaxLossGradient,
                         ::testing::Values(1, 1 + 1e-6, 1.1, 1.5, 1.9, 2, 3));

TEST(EntmaxLossGradients, PerRowAlphaAndOtherDimensions) {
  const at::Tensor z = normal({2, 5, 3});
  const at::Tensor y = random_targets({2, 3}, 5);
  const TensorFunction f = [&](const auto& x) {
    return entmax_loss(x[0], y, x[1], 1, at::Reduction::None, 2, 0.1);
  };
  const at::Tensor alpha = at::tensor({1.2, 1.5, 1.8}, at::kDouble);
  expect_gradients(f, {z, alpha});
  expect_second_gradients(f, {z, alpha}, 1e-5, 1e-5);
  expect_gradients(f, {z, alpha.view({1, 1, 3})});
}

// ∂L/∂α has no cancellation as α → 1 and goes on smoothly to α = 1, also in float32.
TEST(EntmaxLossGradients, AlphaOneIsTheLimitFromAbove) {
  const at::Tensor z = normal({4, 30}) * 2;
  const at::Tensor y = random_targets({4}, 30);
  const auto slopes = [&](double value, at::ScalarType type) {
    const at::Tensor scores = z.to(type).requires_grad_();
    const at::Tensor alpha = at::scalar_tensor(value, at::kDouble).requires_grad_();
    const auto first =
        torch::autograd::grad({entmax_loss(scores, y, alpha)}, {scores, alpha}, {}, true, true);
    const auto second =
        torch::autograd::grad({first[0].square().sum() + first[1].square()}, {scores, alpha});
    return std::vector<at::Tensor>{first[1].detach().to(at::kDouble), second[0].to(at::kDouble),
                                   second[1].to(at::kDouble)};
  };
  const auto at_one = slopes(1, at::kDouble), above = slopes(1 + 1e-9, at::kDouble);
  const auto single = slopes(1 + 1e-6, at::kFloat);
  for (size_t i = 0; i < at_one.size(); ++i) {
    expect_close(at_one[i], above[i], 1e-6);
    expect_close(at_one[i], single[i], 2e-5);
  }
  EXPECT_LT(at_one[0].item<double>(), 0);  // the entropy falls as α grows
  // Against ∂H/∂α by differences at α = 1 + 0.001, where they are accurate.
  const auto loss_at = [&](double alpha) { return entmax_loss(z, y, alpha).item<double>(); };
  EXPECT_NEAR(slopes(1.001, at::kDouble)[0].item<double>(),
              (loss_at(1.0011) - loss_at(1.0009)) / 2e-4, 1e-6);
}

}  // namespace
}  // namespace filigree
