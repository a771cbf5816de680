#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <vector>

#include "filigree/entmax/dropout.h"
#include "filigree/model/add_norm.h"
#include "filigree/model/linear.h"
#include "tests/entmax/targets.h"
#include "tests/gradcheck.h"

namespace filigree::model {
namespace {

at::Tensor random(at::IntArrayRef shape, int64_t seed, at::ScalarType dtype = at::kDouble) {
  torch::manual_seed(seed);
  return torch::randn(shape, dtype);
}

at::Tensor mask(int64_t rows, int64_t width, double dropout, uint64_t key) {
  at::Tensor kept = torch::empty({rows, width}, at::kDouble);
  for (int64_t i = 0; i < kept.numel(); ++i) {
    const bool keep = dropout_bits(key, static_cast<uint64_t>(i)) < dropout_threshold(dropout);
    kept.data_ptr<double>()[i] = dropout == 0 || keep ? 1 / (1 - dropout) : 0;
  }
  return kept;
}

// Widths on both sides of what vectors hold.
constexpr std::array<int64_t, 6> kWidths = {1, 3, 8, 17, 33, 128};

TEST(AddNorm, EqualsThePlainComposition) {
  for (const int64_t width : kWidths) {
    for (const double dropout : {0.0, 0.4}) {
      const at::Tensor branch = random({5, width}, 1), residual = random({5, width}, 2);
      const LayerNorm norm{random({width}, 3), random({width}, 4)};
      const at::Tensor sum = residual + branch * mask(5, width, dropout, 11);
      const at::Tensor expected = torch::layer_norm(sum, {width}, norm.weight, norm.bias, 1e-6);
      const Normed result = add_norm(branch, residual, norm, dropout, 11);
      EXPECT_TRUE(torch::allclose(result.sum, sum)) << width;
      EXPECT_TRUE(torch::allclose(result.normed, expected)) << width;
      EXPECT_TRUE(torch::allclose(norm(sum), expected)) << width;
    }
  }
}

TEST(AddNorm, EveryInstructionSetGivesTheSameInFloat) {
  for (const int64_t width : {3, 8, 17, 33, 128}) {
    std::vector<at::Tensor> inputs = {random({5, width}, 1), random({5, width}, 2),
                                      random({width}, 3), random({width}, 4)};
    const auto run = [&] {
      for (at::Tensor& input : inputs) input = input.detach().requires_grad_();
      const Normed r = add_norm(inputs[0], inputs[1], {inputs[2], inputs[3]}, 0.4, 11);
      const at::Tensor both = torch::cat({r.sum, r.normed});
      std::vector<at::Tensor> all = torch::autograd::grad({(both * both).sum()}, inputs);
      all.push_back(both.detach());
      return all;
    };
    const std::vector<at::Tensor> expected = run();
    for (at::Tensor& input : inputs) input = input.to(at::kFloat);
    for (const int64_t set : hwy::SupportedAndGeneratedTargets()) {
      const OnTarget on(set);
      const std::vector<at::Tensor> result = run();
      for (size_t i = 0; i < result.size(); ++i) {
        const double error = (result[i].to(at::kDouble) - expected[i]).abs().max().item<double>();
        EXPECT_LE(error, 1e-4 * std::max(1.0, expected[i].abs().max().item<double>()))
            << hwy::TargetName(set) << " width " << width << " result " << i;
      }
    }
  }
}

TEST(AddNorm, GradientsAreRightForEveryUseOfItsResults) {
  const auto results = [](const std::vector<at::Tensor>& x, double dropout) {
    return add_norm(x[0], x[1], {x[2], x[3]}, dropout, 7);
  };
  for (const int64_t width : {3, 19}) {
    const std::vector<at::Tensor> inputs = {random({4, width}, 1), random({4, width}, 2),
                                            random({width}, 3), random({width}, 4)};
    for (const double dropout : {0.0, 0.4}) {
      expect_gradients(
          [&](const std::vector<at::Tensor>& x) {
            const Normed r = results(x, dropout);
            return torch::cat({r.sum, r.normed});
          },
          inputs);
      expect_gradients([&](const std::vector<at::Tensor>& x) { return results(x, dropout).normed; },
                       inputs);
      expect_gradients([&](const std::vector<at::Tensor>& x) { return results(x, dropout).sum; },
                       inputs);
    }
  }
}

TEST(LayerNorm, GradientsAreRight) {
  expect_gradients(
      [](const std::vector<at::Tensor>& x) {
        return LayerNorm{x[1], x[2]}(x[0]);
      },
      {random({4, 21}, 5), random({21}, 6), random({21}, 7)});
}

TEST(Linear, EqualsTorchsAndHasItsGradients) {
  // 300 rows are more than one block of the products, 260 inputs deeper than one.
  for (const auto& [rows, in, out] :
       std::vector<std::array<int64_t, 3>>{{1, 1, 1}, {5, 3, 4}, {9, 17, 40}, {300, 260, 70}}) {
    std::vector<at::Tensor> inputs = {random({rows, in}, 5), random({out, in}, 6),
                                      random({out}, 7)};
    for (at::Tensor& input : inputs) input.set_requires_grad(true);
    const at::Tensor ours = Linear{inputs[1], inputs[2]}(inputs[0]);
    const at::Tensor theirs = torch::linear(inputs[0], inputs[1], inputs[2]);
    EXPECT_TRUE(torch::allclose(ours, theirs)) << rows;
    const at::Tensor cotangent = random({rows, out}, 8);
    const auto gradients = torch::autograd::grad({ours}, inputs, {cotangent});
    const auto expected = torch::autograd::grad({theirs}, inputs, {cotangent});
    for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(torch::allclose(gradients[i], expected[i])) << i;
  }
}

TEST(Linear, GivesARowTheSameBitsInAnyBatch) {
  const Linear linear{random({50, 300}, 1, at::kFloat), random({50}, 2, at::kFloat)};
  const at::Tensor x = random({40, 300}, 3, at::kFloat);
  const at::Tensor all = linear(x);
  for (const int64_t rows : {1, 2, 7, 13, 31}) {
    EXPECT_TRUE(torch::equal(linear(x.narrow(0, 40 - rows, rows)), all.narrow(0, 40 - rows, rows)));
  }
}

TEST(FeedForward, EqualsThePlainComposition) {
  const Linear inner{random({37, 6}, 1), random({37}, 2)},
      outer{random({6, 37}, 3), random({6}, 4)};
  const at::Tensor x = random({11, 6}, 5);
  EXPECT_TRUE(torch::allclose(feed_forward(inner, outer, x),
                              torch::linear(torch::relu(torch::linear(x, inner.weight, inner.bias)),
                                            outer.weight, outer.bias)));
  expect_gradients(
      [](const std::vector<at::Tensor>& i) {
        return feed_forward({i[1], i[2]}, {i[3], i[4]}, i[0]);
      },
      {x, inner.weight, inner.bias, outer.weight, outer.bias});
}

}  // namespace
}  // namespace filigree::model
