// What stands behind entmax_loss; loss.cpp registers it. Logits here are rows along the last
// dimension in float32 or float64; target has one int64 per row, negative where the row is ignored;
// alpha has size 1 along the last dimension, or no dimension.
#pragma once

#include <ATen/core/Tensor.h>

#include <tuple>

namespace filigree::entmax_operators {

/// Loss of every row; p, with masked entries marked by −0 when there is label smoothing; and
/// ∂loss/∂α of every row (float64).
using LossOutputs = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

/// keep_p, with_alpha: whether p and ∂loss/∂α are wanted; they are empty otherwise.
LossOutputs loss_cpu(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& alpha,
                     double label_smoothing, bool keep_p, bool with_alpha);
/// dloss (p − y), from the gradient of every row's loss.
at::Tensor loss_backward_cpu(const at::Tensor& dloss, const at::Tensor& p, const at::Tensor& target,
                             double label_smoothing);

/// The same in tensor operations, for devices without kernels.
LossOutputs loss_composite(const at::Tensor& logits, const at::Tensor& target,
                           const at::Tensor& alpha, double label_smoothing, bool keep_p,
                           bool with_alpha);
at::Tensor loss_backward_composite(const at::Tensor& dloss, const at::Tensor& p,
                                   const at::Tensor& target, double label_smoothing);

/// H_α and ∂H_α/∂α of every row of p, in tensor operations with a gradient in p and alpha.
at::Tensor entropy(const at::Tensor& p, const at::Tensor& alpha);
at::Tensor entropy_slope(const at::Tensor& p, const at::Tensor& alpha);

/// The two operators with a gradient of their own.
LossOutputs loss_autograd(const at::Tensor& logits, const at::Tensor& target,
                          const at::Tensor& alpha, double label_smoothing, bool keep_p,
                          bool with_alpha);
at::Tensor loss_backward_autograd(const at::Tensor& dloss, const at::Tensor& p,
                                  const at::Tensor& target, double label_smoothing);

/// Through the dispatcher.
LossOutputs call_loss(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& alpha,
                      double label_smoothing, bool keep_p, bool with_alpha);
at::Tensor call_loss_backward(const at::Tensor& dloss, const at::Tensor& p,
                              const at::Tensor& target, double label_smoothing);

}  // namespace filigree::entmax_operators
