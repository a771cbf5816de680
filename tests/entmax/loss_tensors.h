// Targets for the tests of the loss, and the loss of every row.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "filigree/entmax/loss.h"
#include "tests/entmax/tensors.h"

namespace filigree {

inline at::Tensor targets(std::vector<int64_t> list) {
  return at::tensor(list, at::dtype(at::kLong));
}

inline at::Tensor random_targets(at::IntArrayRef shape, int64_t classes, int64_t seed = 7) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  return at::randint(classes, shape, generator, at::dtype(at::kLong));
}

/// Without a reduction, [rows] of logits [rows, classes].
inline at::Tensor rows_loss(const at::Tensor& z, const at::Tensor& target, double alpha,
                            double smoothing = 0) {
  return entmax_loss(z, target, alpha, -1, at::Reduction::None, -100, smoothing);
}

}  // namespace filigree
