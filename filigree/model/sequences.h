// A batch of token sequences, packed: one after another, without padding.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "filigree/model/kernels/attention.h"

namespace filigree::model {

/// B sequences of N tokens in all.
struct Sequences {
  at::Tensor tokens;  ///< [N] int32
  at::Tensor begin;   ///< [B] int32, where each sequence starts
  at::Tensor length;  ///< [B] int32

  int64_t size() const { return begin.numel(); }
  int64_t token_count() const { return tokens.numel(); }
  Spans spans() const { return {begin.data_ptr<int32_t>(), length.data_ptr<int32_t>()}; }
};

/// Packs sequences; each gets `prefix` in front and `suffix` behind where those are not negative.
Sequences pack(const std::vector<std::span<const int32_t>>& sequences, int32_t prefix,
               int32_t suffix);

}  // namespace filigree::model
