// adam.h in tensor operations, for tensors on any device.
#pragma once

#include <ATen/core/Tensor.h>

#include "filigree/train/adam.h"

namespace filigree::train {

/// As adam_update(): changes parameter, both moments and average in place. All of one size; average
/// may be undefined.
void adam_update_composite(const AdamStep& step, const at::Tensor& gradient,
                           const at::Tensor& parameter, const at::Tensor& first_moment,
                           const at::Tensor& second_moment, const at::Tensor& average);

}  // namespace filigree::train
