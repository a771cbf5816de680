// Training on a GPU against training on the CPU, where there is one.
#include "filigree/train/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "filigree/base/error.h"
#include "filigree/model/kernels/matrix_product.h"
#include "filigree/train/checkpoint.h"
#include "filigree/train/gradient_workers.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/small_model.h"
#include "tests/train/toy.h"

namespace filigree::train {
namespace {

using testing::HasSubstr;

#define FILIGREE_NEEDS_GPU() \
  if (!torch::cuda::is_available()) GTEST_SKIP() << "needs a GPU and a LibTorch with CUDA"

TEST(Device, NamesAreCpuAndCudaWithANumber) {
  EXPECT_EQ(parse_device("cpu"), at::Device(at::kCPU));
  EXPECT_EQ(parse_device("cuda"), at::Device(at::kCUDA));
  EXPECT_EQ(parse_device("cuda:3"), at::Device(at::kCUDA, 3));
  for (const char* name : {"", "gpu", "cuda:", "cuda:-1", "cuda:1x", "cuda:999", "CPU"}) {
    EXPECT_THROW(parse_device(name), UsageError) << name;
  }
}

TEST(Device, WithoutCudaTheErrorSaysSo) {
  if (torch::cuda::is_available()) GTEST_SKIP() << "this machine has a GPU";
  try {
    require_device("cuda", 0, model::Precision::kFloat32);
    ADD_FAILURE();
  } catch (const UsageError&) {
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("--device cuda: this LibTorch has no CUDA"));
  }
}

TEST(Device, PrecisionsThatAreOthersHereAreNamed) {
  using model::Precision;
  const bool amx = model::has_tile_products(Precision::kBfloat16x3);
  EXPECT_EQ(precision_note(at::kCPU, Precision::kFloat32).empty(), !amx);
  EXPECT_EQ(precision_note(at::kCPU, Precision::kBfloat16x3).empty(), amx);
  EXPECT_EQ(precision_note(at::kCPU, Precision::kBfloat16), "");
  EXPECT_EQ(precision_note(at::kCUDA, Precision::kFloat32), "");
  EXPECT_THAT(precision_note(at::kCUDA, Precision::kBfloat16x3), HasSubstr("is float32"));
}

at::Tensor gradient_on(at::Device device, double output_alpha, model::LossSums& sums,
                       double& norm) {
  model::ModelConfig config = small_model().config();
  config.output_alpha = output_alpha;
  model::Transformer model(config);
  model.initialise(1);
  WorkerGroup alone;
  const model::Transformer there = model.to(device);
  GradientWorkers workers(there, 1, alone, {"encoder.layers.0.feed_forward.inner.bias"});
  const auto batches = select_pairs({{0, 4, 5, 7, 8}, {1, 9, 10, 11}, {2, 3, 6}});
  sums = workers.compute(batches,
                         {.dropout = 0.2, .attention_dropout = 0.2, .label_smoothing = 0.1}, 7);
  norm = workers.gradient_norm();
  return workers.gradient().cpu();
}

TEST(Device, TheGradientIsThatOfTheCpuDropoutIncluded) {
  FILIGREE_NEEDS_GPU();
  for (const double output_alpha : {1.0, 1.5}) {
    model::LossSums sums, expected_sums;
    double norm = 0, expected_norm = 0;
    const at::Tensor gradient = gradient_on(at::kCUDA, output_alpha, sums, norm);
    const at::Tensor expected = gradient_on(at::kCPU, output_alpha, expected_sums, expected_norm);
    EXPECT_LT(difference(gradient, expected), 1e-4);
    EXPECT_NEAR(norm, expected_norm, 1e-4 * expected_norm);
    EXPECT_NEAR(sums.loss, expected_sums.loss, 1e-4 * expected_sums.loss);
    EXPECT_NEAR(sums.log_likelihood, expected_sums.log_likelihood, 1e-2);
    EXPECT_EQ(sums.tokens, expected_sums.tokens);
  }
}

TEST(Device, UpdatesAndCheckpointsAreThoseOfTheCpu) {
  FILIGREE_NEEDS_GPU();
  const test::TemporaryFolder folder;
  TrainOptions options;
  options.exponential_smoothing = 0.1;
  options.learning_rate = 0.01;
  options.warmup_steps = 0;
  options.adam_epsilon = 1e-3;  // Without it Adam makes a step of the noise around zero gradients.
  const auto train_on = [&](at::Device device) {
    const model::Transformer model = small_model().to(device);
    const model::Parameters& parameters = model.parameters();
    const std::set<std::string> frozen = {"embedding.weight"};
    OptimizerState state =
        initial_optimizer_state(options, parameters.values(), trained_ranges(parameters, frozen));
    WorkerGroup alone;
    GradientWorkers workers(model, 1, alone, frozen);
    for (int64_t step = 1; step <= 3; ++step) {
      workers.compute(select_pairs({{0, 1, 2, 3}}), {.dropout = 0.1}, 1);
      apply_gradient(options, step, 1, workers.gradient(), workers.gradient_norm(),
                     parameters.values(), state, 1);
    }
    Progress progress;
    progress.step = device.is_cpu() ? 1 : 2;
    save_checkpoint(folder.path(), {}, model, state, progress);
  };
  train_on(at::kCPU);
  train_on(at::kCUDA);
  // What the other device wrote is read on the CPU, and what the CPU wrote there.
  const auto read = [&](at::Device device, int64_t before) {
    const model::Transformer model = small_model().to(device);
    OptimizerState state = initial_optimizer_state(options, model.parameters().values(), {});
    EXPECT_TRUE(load_newest_checkpoint(folder.path(), model, state, before).has_value());
    return torch::cat({model.parameters().values().cpu(), state.first_moment.cpu(),
                       state.second_moment.cpu(), state.average.cpu()});
  };
  const at::Tensor from_cpu = read(at::kCPU, 2), from_device = read(at::kCPU, 3);
  EXPECT_LT((from_cpu - from_device).abs().max().item<double>(), 1e-5);
  EXPECT_TRUE(torch::equal(read(at::kCUDA, 2), from_cpu));
}

}  // namespace
}  // namespace filigree::train
