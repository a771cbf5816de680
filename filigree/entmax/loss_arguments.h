// The arguments that losses share: checks, rows, reductions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace filigree::entmax_operators {

/// Logits with the classes along the last dimension; the class of every row, −1 where it is to be
/// ignored; and alpha without dimensions, or with those of the logits and the classes' last.
struct LossRows {
  at::Tensor logits, target, alpha;
};

/// loss.h describes the arguments; throws what it promises, except for the values of alpha.
LossRows loss_rows(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& alpha,
                   int64_t dim, int64_t reduction, int64_t ignore_index, double label_smoothing);

/// From the loss of every row, with 0 for the rows that are ignored.
at::Tensor reduce_loss(const at::Tensor& loss, const at::Tensor& target, int64_t reduction,
                       at::ScalarType type);

}  // namespace filigree::entmax_operators
