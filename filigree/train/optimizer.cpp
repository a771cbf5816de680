#include "filigree/train/optimizer.h"

#include <torch/torch.h>

#include <algorithm>
#include <utility>

#include "filigree/train/adam.h"
#include "filigree/train/adam_composite.h"
#include "filigree/train/gradient_workers.h"
#include "filigree/train/schedule.h"

namespace filigree::train {

OptimizerState initial_optimizer_state(const TrainOptions& options, const at::Tensor& values,
                                       std::vector<Range> trained) {
  OptimizerState state;
  state.trained = std::move(trained);
  state.first_moment = torch::zeros_like(values);
  state.second_moment = torch::zeros_like(values);
  if (options.exponential_smoothing > 0) state.average = values.clone();
  return state;
}

void apply_gradient(const TrainOptions& options, int64_t step_number, double rate_factor,
                    const at::Tensor& gradient, double norm, const at::Tensor& values,
                    OptimizerState& state, int threads) {
  AdamStep step{};
  step.learning_rate = rate_factor * learning_rate(options, step_number);
  step.beta1 = options.adam_beta1;
  step.beta2 = options.adam_beta2;
  step.epsilon = options.adam_epsilon;
  step.step = step_number;
  step.gradient_scale =
      options.clip_norm > 0 && norm > options.clip_norm ? options.clip_norm / norm : 1;
  // Early on the average follows closely, so that it does not remember the initial weights.
  step.smoothing =
      std::max(options.exponential_smoothing, 10.0 / (10.0 + static_cast<double>(step_number)));
  if (!values.is_cpu()) {
    for (const Range& range : state.trained) {
      const auto part = [&](const at::Tensor& t) {
        return t.defined() ? t.narrow(0, range.begin, range.end - range.begin) : t;
      };
      adam_update_composite(step, part(gradient), part(values), part(state.first_moment),
                            part(state.second_moment), part(state.average));
    }
    return;
  }
  const auto data = [](const at::Tensor& t) { return t.defined() ? t.data_ptr<float>() : nullptr; };
  const float* const from = data(gradient);
  float* const to = data(values);
  float* const average = data(state.average);
  parallel_ranges(threads, values.numel(), [&](int, int64_t first, int64_t last) {
    for (const Range& range : state.trained) {
      const int64_t begin = std::max(first, range.begin), end = std::min(last, range.end);
      if (begin >= end) continue;
      adam_update(step, end - begin, from + begin, to + begin, data(state.first_moment) + begin,
                  data(state.second_moment) + begin, average ? average + begin : nullptr);
    }
  });
}

}  // namespace filigree::train
