#include "filigree/inspect/sparse_attention.h"

namespace filigree::inspect {

SparseAttention::SparseAttention(const float* weights, int32_t queries, int32_t keys)
    : keys_(keys) {
  end_.reserve(static_cast<size_t>(queries));
  for (int32_t q = 0; q < queries; ++q) {
    for (int32_t k = 0; k < keys; ++k, ++weights) {
      if (*weights > 0) entries_.push_back({k, *weights});
    }
    end_.push_back(static_cast<int32_t>(entries_.size()));
  }
}

std::span<const SparseAttention::Entry> SparseAttention::row(int32_t query) const {
  const auto q = static_cast<size_t>(query);
  const auto begin = static_cast<size_t>(q == 0 ? 0 : end_[q - 1]);
  return {entries_.data() + begin, static_cast<size_t>(end_[q]) - begin};
}

SparseAttention uniform_attention(AttentionBlock block, int32_t queries, int32_t keys) {
  std::vector<float> weights(static_cast<size_t>(queries) * static_cast<size_t>(keys));
  for (int32_t q = 0; q < queries; ++q) {
    const int32_t visible = visible_keys(block, q, keys);
    float* const row = weights.data() + static_cast<size_t>(q) * static_cast<size_t>(keys);
    for (int32_t k = 0; k < visible; ++k) row[k] = 1.0f / static_cast<float>(visible);
  }
  return {weights.data(), queries, keys};
}

}  // namespace filigree::inspect
