// Blocks of queries of one head: what they see, and their share of the dropout mask.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "filigree/entmax/dropout.h"
#include "filigree/entmax/sparse_attention.h"

namespace filigree::entmax_kernels {

/// Whether a head's keys and values are so few numbers that little is gained by reading only some.
template <typename T>
bool few_keys(const AttentionHead<T>& head) {
  return head.keys * (head.width + head.value_width) < 6144;
}

/// Whether a head counts as dense before its first block has been seen.
template <typename T>
bool starts_dense(const AttentionHead<T>& head) {
  return head.alpha < 1.25 || few_keys(head);
}

/// Blocks with a larger share of weights above 0, of those in sight, go through dense products. An
/// entry of a compressed row costs indices as well as products, which matter less the wider the
/// head; with few keys the dense products are all in the first-level cache. Measured for heads of
/// size 32 and 64 and 20 to 1,024 keys.
template <typename T>
double dense_share(const AttentionHead<T>& head) {
  const auto width = static_cast<double>(head.width + head.value_width) / 2;
  const double share = std::min(0.5, 0.25 * std::sqrt(width / 32));
  return few_keys(head) ? share / 2 : share;
}

struct BlockRows {
  int64_t first, count;
  int32_t lengths[kBlockQueries];  ///< keys that each row sees; never fewer than the row before
  int64_t longest, in_sight;       ///< their maximum and sum

  /// For the kernels on rows: null where all see the same keys, which is faster.
  const int32_t* ragged() const { return in_sight < count * longest ? lengths : nullptr; }
};

template <typename T>
BlockRows block_rows(const AttentionHead<T>& head, int64_t block) {
  BlockRows rows;
  rows.first = block * kBlockQueries;
  rows.count = std::min(kBlockQueries, head.queries - rows.first);
  rows.in_sight = 0;
  for (int64_t r = 0; r < rows.count; ++r) {
    const int64_t seen = std::clamp<int64_t>(rows.first + r + head.lead, 0, head.keys);
    rows.lengths[r] = static_cast<int32_t>(seen);
    rows.in_sight += seen;
  }
  rows.longest = rows.lengths[rows.count - 1];
  return rows;
}

/// The rows of a block as they multiply the values, after dropout.
template <typename T>
const T* drop_rows(const AttentionHead<T>& head, const BlockRows& rows, const T* p, int64_t pitch,
                   Room<T>& room) {
  T* const out = room.at_least(rows.count * pitch);
  for (int64_t r = 0; r < rows.count; ++r) {
    const auto first = static_cast<uint64_t>((rows.first + r) * head.dropout_row);
    dropout_add(p + r * pitch, static_cast<const T*>(nullptr), out + r * pitch, rows.longest,
                head.dropout, head.dropout_key, head.dropout_first + first);
  }
  return out;
}

/// For every entry of a compressed block 1 / (1 − dropout) where it is kept, else 0.
template <typename T>
void entry_factors(const AttentionHead<T>& head, const BlockRows& rows,
                   const WeightBlock<T>& weights, T* factors) {
  for (int64_t r = 0; r < rows.count; ++r) {
    const auto first = static_cast<uint64_t>((rows.first + r) * head.dropout_row);
    const int32_t begin = weights.begin[r];
    dropout_factors(weights.key + begin, weights.begin[r + 1] - begin, head.dropout,
                    head.dropout_key, head.dropout_first + first, factors + begin);
  }
}

}  // namespace filigree::entmax_kernels
