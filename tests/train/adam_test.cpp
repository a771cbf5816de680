#include "filigree/train/adam.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "filigree/train/adam_composite.h"

namespace filigree::train {
namespace {

TEST(Adam, EqualsTorchsOverManyStepsForEveryLength) {
  for (const int64_t size : {1, 15, 16, 37, 1000}) {
    torch::manual_seed(size);
    at::Tensor parameter = torch::randn({size});
    at::Tensor reference = parameter.clone().set_requires_grad(true);
    torch::optim::Adam optimizer({reference},
                                 torch::optim::AdamOptions(0.01).betas({0.9, 0.98}).eps(1e-9));
    const at::Tensor first = torch::zeros({size}), second = torch::zeros({size});
    for (int64_t step = 1; step <= 20; ++step) {
      const at::Tensor gradient = torch::randn({size});
      reference.mutable_grad() = gradient * 0.5;
      optimizer.step();
      adam_update({.learning_rate = 0.01,
                   .beta1 = 0.9,
                   .beta2 = 0.98,
                   .epsilon = 1e-9,
                   .step = step,
                   .gradient_scale = 0.5},
                  size, gradient.data_ptr<float>(), parameter.data_ptr<float>(),
                  first.data_ptr<float>(), second.data_ptr<float>(), nullptr);
    }
    EXPECT_LT((parameter - reference.detach()).abs().max().item<double>(), 2e-6) << size;
  }
}

TEST(Adam, InTensorOperationsIsTheSame) {
  torch::manual_seed(3);
  std::vector<at::Tensor> kernels, composite;  // parameter, moments, average
  for (int i = 0; i < 4; ++i) {
    kernels.push_back(i == 1 || i == 2 ? torch::zeros({100}) : torch::randn({100}));
    composite.push_back(kernels.back().clone());
  }
  for (int64_t step = 1; step <= 20; ++step) {
    const AdamStep adam{.learning_rate = 0.01,
                        .beta1 = 0.9,
                        .beta2 = 0.98,
                        .epsilon = 1e-9,
                        .step = step,
                        .gradient_scale = 0.5,
                        .smoothing = 0.1};
    const at::Tensor gradient = torch::randn({100});
    adam_update(adam, 100, gradient.data_ptr<float>(), kernels[0].data_ptr<float>(),
                kernels[1].data_ptr<float>(), kernels[2].data_ptr<float>(),
                kernels[3].data_ptr<float>());
    adam_update_composite(adam, gradient, composite[0], composite[1], composite[2], composite[3]);
  }
  for (int i = 0; i < 4; ++i)
    EXPECT_TRUE(torch::allclose(kernels[i], composite[i], 1e-5, 1e-6)) << i;
}

TEST(Adam, TheAverageFollowsTheParameters) {
  float parameter = 1, first = 0, second = 0, average = 3;
  const float gradient = 0;
  adam_update({.learning_rate = 0.1,
               .beta1 = 0.9,
               .beta2 = 0.98,
               .epsilon = 1e-9,
               .step = 1,
               .gradient_scale = 1,
               .smoothing = 0.25},
              1, &gradient, &parameter, &first, &second, &average);
  EXPECT_EQ(parameter, 1);
  EXPECT_FLOAT_EQ(average, 2.5f);
}

TEST(Adam, NormsAndSumsAreRightForEveryLength) {
  for (const int64_t size : {0, 1, 16, 1023, 1024, 5000}) {
    const at::Tensor a = torch::randn({size}), b = torch::randn({size}), sum = b.clone();
    const double norm = add_and_square_norm(size, a.data_ptr<float>(), sum.data_ptr<float>());
    EXPECT_TRUE(torch::equal(sum, a + b));
    const double expected = (a + b).to(at::kDouble).square().sum().item<double>();
    EXPECT_NEAR(norm, expected, 1e-6 * (1 + expected));
    EXPECT_EQ(square_norm(size, sum.data_ptr<float>()), norm);
  }
}

}  // namespace
}  // namespace filigree::train
