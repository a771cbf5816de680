// The functions of functions.h, add_norm.h and attention.h in plain tensor operations, with the
// gradients of PyTorch's autograd: for devices that have no kernels of ours, and to compare those
// kernels with. Sequences stay on the CPU; weights and activations are on one device. Values,
// gradients and dropout masks are those of the kernels, up to rounding.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "filigree/model/add_norm.h"
#include "filigree/model/attention.h"
#include "filigree/model/functions.h"
#include "filigree/model/sequences.h"

namespace filigree::model::composite {

at::Tensor embed(const Sequences& sequences, const at::Tensor& weight, double dropout,
                 uint64_t dropout_key);

at::Tensor layer_norm(const at::Tensor& x, const LayerNorm& norm);
Normed add_norm(const at::Tensor& branch, const at::Tensor& residual, const LayerNorm& norm,
                double dropout, uint64_t dropout_key);

/// Holds all logits at once, unlike its counterpart. The sums wait for the device.
at::Tensor linear_loss(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& gold,
                       const LossOptions& options, LossSums& sums);

/// Sentences are padded to the longest one while they attend.
at::Tensor self_attention(const at::Tensor& qkv, const at::Tensor& alpha,
                          const Sequences& sequences, const AttentionOptions& options);
at::Tensor cross_attention(const at::Tensor& query, const at::Tensor& key_value,
                           const at::Tensor& alpha, const Sequences& target,
                           const Sequences& source, const AttentionOptions& options);

}  // namespace filigree::model::composite
