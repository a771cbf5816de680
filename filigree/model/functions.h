// Both ends of the model as functions with autograd: the embedding, and the output layer with its
// loss. Tensors that are not on the CPU go to composite.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "filigree/model/precision.h"
#include "filigree/model/sequences.h"

namespace filigree::model {

/// dropout(√D · weight[token] + position), with sinusoidal positions counted from 0 in each
/// sequence. weight [V, D]; returns [N, D].
at::Tensor embed(const Sequences& sequences, const at::Tensor& weight, double dropout,
                 uint64_t dropout_key);

/// Sinusoidal positions (Vaswani et al., 2017): row p holds sin(p · w_i) in column 2i and cos(p ·
/// w_i) in column 2i + 1, with w_i = 10000^(−2i/D). Returns [at least length, width] float32, kept
/// for the life of the process.
at::Tensor position_table(int64_t length, int64_t width);

/// The loss of the output layer.
struct LossOptions {
  double alpha = 1;  ///< of the output's α-entmax and its loss; 1: softmax, cross-entropy
  double label_smoothing = 0;
  double scale = 1;  ///< the loss is `scale` times the sum over positions
  /// Of the logits' product and its gradients. In kBfloat16 without AMX all logits are held at
  /// once.
  Precision precision = Precision::kFloat32;
};

/// What ε-perplexity (Martins, Marinho and Martins, 2020, "Sparse Text Generation") adds to all V
/// probabilities of a distribution together before it is normalised again.
inline constexpr double kEpsilonMass = 0.01;

struct LossSums {
  double loss = 0;  ///< label-smoothed cross-entropy or α-entmax loss, in nats, unscaled
  /// Σ log p[gold]. For α > 1, where p[gold] may be 0, it is Σ log ((p[gold] + ε) / (1 + εV)) with
  /// εV = kEpsilonMass.
  double log_likelihood = 0;
  int64_t tokens = 0;
};

/// Label-smoothed cross-entropy or α-entmax loss of logits = hidden weightᵀ without ever holding
/// all logits: a block of positions at a time, whose gradients are taken at once. hidden [N, D],
/// weight [V, D], gold [N] int32. Adds to `sums`; returns the scaled loss, a scalar.
at::Tensor linear_loss(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& gold,
                       const LossOptions& options, LossSums& sums);

}  // namespace filigree::model
