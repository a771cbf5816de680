#include "filigree/train/adam_composite.h"

#include <torch/torch.h>

#include <cmath>

namespace filigree::train {

void adam_update_composite(const AdamStep& step, const at::Tensor& gradient,
                           const at::Tensor& parameter, const at::Tensor& first_moment,
                           const at::Tensor& second_moment, const at::Tensor& average) {
  const torch::NoGradGuard no_grad;
  const auto steps = static_cast<double>(step.step);
  const double rate = step.learning_rate / (1 - std::pow(step.beta1, steps));
  const double root = 1 / std::sqrt(1 - std::pow(step.beta2, steps));
  const at::Tensor g = gradient * step.gradient_scale;
  first_moment.mul_(step.beta1).add_(g, 1 - step.beta1);
  second_moment.mul_(step.beta2).addcmul_(g, g, 1 - step.beta2);
  parameter.addcdiv_(first_moment, second_moment.sqrt().mul_(root).add_(step.epsilon), -rate);
  if (average.defined()) average.lerp_(parameter, step.smoothing);
}

}  // namespace filigree::train
