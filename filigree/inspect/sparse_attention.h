// Attention weights as sparse rows: only what a head looks at is kept, and statistics cost what the
// head costs. No LibTorch.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "filigree/model/config.h"

namespace filigree::inspect {

using model::AttentionBlock;

/// The weights above zero of one head in one sentence.
class SparseAttention {
 public:
  struct Entry {
    int32_t key;
    float weight;
  };

  SparseAttention() = default;
  /// From a [queries, keys] row-major matrix.
  SparseAttention(const float* weights, int32_t queries, int32_t keys);

  int32_t queries() const { return static_cast<int32_t>(end_.size()); }
  int32_t keys() const { return keys_; }
  /// The entries of one query, in ascending order of their keys.
  std::span<const Entry> row(int32_t query) const;
  int64_t nonzero() const { return static_cast<int64_t>(entries_.size()); }

 private:
  int32_t keys_ = 0;
  std::vector<int32_t> end_;  ///< [queries], where the entries of each row end
  std::vector<Entry> entries_;
};

/// The heads of one layer.
using LayerAttention = std::vector<SparseAttention>;

/// Everything a model looked at in one sentence: by block, [layer][head].
struct SentenceAttention {
  std::array<std::vector<LayerAttention>, 3> blocks;

  std::vector<LayerAttention>& of(AttentionBlock block) {
    return blocks[static_cast<size_t>(block)];
  }
  const std::vector<LayerAttention>& of(AttentionBlock block) const {
    return blocks[static_cast<size_t>(block)];
  }
};

/// How many keys a query may look at: all, or those up to itself in the decoder's self-attention.
inline int32_t visible_keys(AttentionBlock block, int32_t query, int32_t keys) {
  return block == AttentionBlock::kDecoder ? query + 1 : keys;
}

/// A head that looks at all visible keys alike: what a statistic is without attention.
SparseAttention uniform_attention(AttentionBlock block, int32_t queries, int32_t keys);

}  // namespace filigree::inspect
