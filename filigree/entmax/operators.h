// What stands behind the registered operators; entmax.cpp registers it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <tuple>

#include "filigree/entmax/runs.h"

namespace filigree::entmax_operators {

using Outputs = std::tuple<at::Tensor, at::Tensor, at::Tensor>;  // p, τ, support size

/// The type that scores of this type are computed in.
at::ScalarType compute_type(at::ScalarType scores);

/// Throws unless both are floating point.
void check_types(const at::Tensor& scores, const at::Tensor& alpha);

/// A view of alpha that broadcasts over the scores with size 1 along dim; throws when there is
/// none, naming the parameter `name`.
at::Tensor align_alpha(const at::Tensor& alpha, const at::Tensor& scores, int64_t dim,
                       const char* name = "alpha");

/// α of the rows along dim. Throws where it is not a number of at least 1.
RowAlphas row_alphas(const at::Tensor& aligned, const at::Tensor& scores, int64_t dim);

/// The CPU kernels over tensors. backward: dz and, if with_alpha, the gradient in alpha's shape.
Outputs forward_cpu(const at::Tensor& scores, const at::Tensor& alpha, int64_t dim);
std::tuple<at::Tensor, at::Tensor> backward_cpu(const at::Tensor& p, const at::Tensor& dp,
                                                const at::Tensor& alpha, int64_t dim,
                                                bool with_alpha);

/// The same with a gradient of their own.
Outputs forward_autograd(const at::Tensor& scores, const at::Tensor& alpha, int64_t dim);
std::tuple<at::Tensor, at::Tensor> backward_autograd(const at::Tensor& p, const at::Tensor& dp,
                                                     const at::Tensor& alpha, int64_t dim,
                                                     bool with_alpha);

/// attention_weights() of attention.h as devices without kernels compute it.
at::Tensor attention_weights_composite(const at::Tensor& scores, const at::Tensor& alpha,
                                       double scale, const at::Tensor& key_lengths, bool causal,
                                       double dropout, int64_t seed);

/// Through the dispatcher, for callers below autograd.
Outputs call_forward(const at::Tensor& scores, const at::Tensor& alpha, int64_t dim);
std::tuple<at::Tensor, at::Tensor> call_backward(const at::Tensor& p, const at::Tensor& dp,
                                                 const at::Tensor& alpha, int64_t dim,
                                                 bool with_alpha);

}  // namespace filigree::entmax_operators
