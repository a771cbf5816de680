// The optimiser's state and its update: Adam over the flat parameter buffer, on several threads or
// on another device.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "filigree/train/freezing.h"
#include "filigree/train/options.h"

namespace filigree::train {

/// What an optimiser works on and carries from step to step; tensors of [parameters], float32.
struct OptimizerState {
  at::Tensor first_moment, second_moment;
  at::Tensor average;          ///< undefined when no average is kept
  std::vector<Range> trained;  ///< of the flat buffer; the rest keeps its bits
};

/// That of the first step, for weights `values`, of which these ranges are trained.
OptimizerState initial_optimizer_state(const TrainOptions& options, const at::Tensor& values,
                                       std::vector<Range> trained);

/// One update of `values` by a gradient of this Euclidean norm, clipped. `step` counts from 1; the
/// schedule's learning rate is multiplied by rate_factor.
void apply_gradient(const TrainOptions& options, int64_t step, double rate_factor,
                    const at::Tensor& gradient, double norm, const at::Tensor& values,
                    OptimizerState& state, int threads);

}  // namespace filigree::train
