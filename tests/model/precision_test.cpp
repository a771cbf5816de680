#include "filigree/model/precision.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <fstream>
#include <sstream>

#include "filigree/model/kernels/matrix_product.h"
#include "filigree/model/transformer.h"
#include "tests/gradcheck.h"
#include "tests/model/packing.h"

namespace filigree::model {
namespace {

at::Tensor random(at::IntArrayRef shape, int64_t seed) {
  torch::manual_seed(seed);
  return torch::randn(shape);
}

// What LibTorch does without them is slow, and some versions also sum up in bfloat16.
#define FILIGREE_NEEDS_BFLOAT16() \
  if (!has_bfloat16_instructions()) GTEST_SKIP() << "this processor has no bfloat16 instructions"

// As the nearest bfloat16.
at::Tensor rounded(const at::Tensor& x) { return x.to(at::kBFloat16).to(at::kDouble); }

// Half a unit in the last of bfloat16's 8 bits, and a little for sums in float32.
constexpr double kRounding = 1.0 / 256 + 1e-4;

void expect_close(const at::Tensor& value, const at::Tensor& exact) {
  EXPECT_EQ(value.scalar_type(), at::kFloat);
  EXPECT_LT(((value - exact).abs() / (exact.abs() + 0.01)).max().item<double>(), kRounding);
}

TEST(Bfloat16, ProductsAreOfRoundedOperandsWithSumsInFloat) {
  FILIGREE_NEEDS_BFLOAT16();
  const at::Tensor x = random({70, 300}, 1), weight = random({90, 300}, 2), bias = random({90}, 3);
  const at::Tensor product = rounded(x).matmul(rounded(weight).t());
  const at::Tensor y = linear(x, weight, {}, Precision::kBfloat16);
  expect_close(y, product);
  EXPECT_TRUE(torch::equal(linear(x, weight, bias, Precision::kBfloat16), y + bias));

  const at::Tensor cotangent = random({70, 90}, 4);
  const auto gradients =
      gradients_of([](const auto& i) { return linear(i[0], i[1], i[2], Precision::kBfloat16); },
                   {x, weight, bias}, cotangent);
  expect_close(gradients[0], rounded(cotangent).matmul(rounded(weight)));
  expect_close(gradients[1], rounded(cotangent).t().matmul(rounded(x)));
  EXPECT_TRUE(torch::allclose(gradients[2], cotangent.sum(0), 1e-5, 1e-5));
}

TEST(Bfloat16, Float32IsTorchsLinear) {
  const at::Tensor x = random({7, 30}, 1), weight = random({9, 30}, 2), bias = random({9}, 3);
  EXPECT_TRUE(
      torch::equal(linear(x, weight, bias, Precision::kFloat32), torch::linear(x, weight, bias)));
}

struct Pass {
  LossSums sums;
  at::Tensor gradient;
};

Pass run_model(Precision precision, double output_alpha) {
  ModelConfig config;
  config.encoder_layers = config.decoder_layers = 2;
  config.d_model = 32;
  config.d_ff = 64;
  config.heads = 4;
  config.source_vocabulary = config.target_vocabulary = 60;
  Transformer model(config);
  model.initialise(1);
  model.parameters().require_gradients();
  const Sequences source = sequences_of({9, 14, 5}), target = sequences_of({12, 6, 8});
  ForwardOptions options;
  options.precision = precision;
  const at::Tensor hidden = model.decode(target, model.encode(source, options), source, options);
  Pass result;
  linear_loss(hidden, model.output_weight(), target.tokens,
              {.alpha = output_alpha, .label_smoothing = 0.1, .precision = precision}, result.sums)
      .backward();
  result.gradient = model.parameters().gradients();
  return result;
}

TEST(Bfloat16, LossAndGradientOfAModelAreNearThoseInFloat) {
  FILIGREE_NEEDS_BFLOAT16();
  for (const double alpha : {1.0, 1.5}) {
    const Pass half = run_model(Precision::kBfloat16, alpha),
               full = run_model(Precision::kFloat32, alpha);
    EXPECT_NE(half.sums.loss, full.sums.loss);
    EXPECT_NEAR(half.sums.loss, full.sums.loss, 0.01 * full.sums.loss);
    EXPECT_NEAR(half.sums.log_likelihood, full.sums.log_likelihood,
                -0.01 * full.sums.log_likelihood);
    EXPECT_LT((half.gradient - full.gradient).norm().item<double>(),
              0.05 * full.gradient.norm().item<double>());
  }
}

TEST(Bfloat16x3, LossAndGradientOfAModelAreThoseInFloatToSixteenBits) {
  for (const double alpha : {1.0, 1.5}) {
    const Pass three = run_model(Precision::kBfloat16x3, alpha),
               full = run_model(Precision::kFloat32, alpha);
    // Without AMX it is float32.
    EXPECT_EQ(torch::equal(three.gradient, full.gradient),
              !has_tile_products(Precision::kBfloat16x3));
    EXPECT_NEAR(three.sums.loss, full.sums.loss, 1e-5 * full.sums.loss);
    EXPECT_LT((three.gradient - full.gradient).norm().item<double>(),
              1e-4 * full.gradient.norm().item<double>());
  }
}

#if defined(__x86_64__) && defined(__linux__)
TEST(Bfloat16, InstructionsAreThoseThatTheKernelKnowsOf) {
  std::stringstream flags;
  flags << std::ifstream("/proc/cpuinfo").rdbuf();
  EXPECT_EQ(has_bfloat16_instructions(), flags.str().find(" avx512_bf16") != std::string::npos);
}
#endif

}  // namespace
}  // namespace filigree::model
