// The frame of every sub-layer: norm, branch and residual connection, in buffers that are allocated
// once and kept from step to step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "filigree/translate/packed_model.h"
#include "filigree/translate/row_kernels.h"

namespace filigree::translate {

/// Numbers whose memory only grows. What they hold is not kept when they do.
class Buffer {
 public:
  float* ensure(int64_t size) {
    if (values_.size() < static_cast<size_t>(size)) {
      values_.clear();
      values_.resize(static_cast<size_t>(size));
    }
    return values_.data();
  }

 private:
  std::vector<float> values_;
};

struct Workspace {
  Buffer hidden;               ///< [rows, D], what the residual connections carry
  Buffer normed;               ///< [rows, D]
  Buffer products;             ///< [rows, 3D] or [rows, d_ff]
  Buffer context;              ///< [rows, D]
  std::vector<float> weights;  ///< of one attention, see attend()
};

/// x += branch(norm(x)), or x = norm(x + branch(x)), for rows x [rows, D]. `branch(input)` adds its
/// result to x.
template <typename Branch>
void residual(const PackedModel& model, const PackedNorm& norm, float* x, int64_t rows,
              Workspace& workspace, const Branch& branch) {
  const int64_t width = model.config().d_model;
  const bool pre_norm = model.config().pre_norm;
  const auto normalise = [&](float* to) {
    layer_norm(x, rows, width, norm.weight.data(), norm.bias.data(), to);
  };
  if (pre_norm) {
    float* const normed = workspace.normed.ensure(rows * width);
    normalise(normed);
    branch(static_cast<const float*>(normed));
  } else {
    branch(static_cast<const float*>(x));
    normalise(x);
  }
}

/// The feed-forward sub-layer.
inline void feed_forward(const PackedModel& model, const PackedFeedForward& layer, float* x,
                         int64_t rows, Workspace& workspace) {
  const int64_t width = model.config().d_model, inner_width = model.config().d_ff;
  residual(model, layer.norm, x, rows, workspace, [&](const float* input) {
    float* const inner = workspace.products.ensure(rows * inner_width);
    multiply({layer.inner, input, width, rows, inner, inner_width, Then::kRelu});
    multiply({layer.outer, inner, inner_width, rows, x, width, Then::kAdd});
  });
}

}  // namespace filigree::translate
