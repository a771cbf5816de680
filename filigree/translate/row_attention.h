// Attention of one query per row to keys wherever they lie in memory: a step of incremental
// decoding, or an encoder's tokens. Vectorised, one thread, no LibTorch.
#pragma once

#include <cstdint>
#include <vector>

namespace filigree::translate {

/// Row r has `lengths[r]` (at least one) keys: the D = heads · head_size numbers of its j-th are at
/// keys[r][j] + key_offset, those of its value at keys[r][j] + value_offset.
struct RowAttention {
  int64_t rows;
  int64_t heads;
  int64_t head_size;
  const float* query;  ///< row r's at query + r · query_stride
  int64_t query_stride;
  const float* const* const* keys;
  int64_t key_offset;
  int64_t value_offset;
  const int32_t* lengths;
  const double* alpha;  ///< [heads], see entmax_kernels::forward()

  /// Length of the rows of weights: the longest of `lengths`, rounded up.
  int64_t pitch() const;
};

/// Writes the context vectors [rows, D] and the attention weights [heads, rows, pitch()], which are
/// zero beyond a row's length. Values whose weight is zero are not read. A row's result does not
/// depend on the other rows. `weights` grows where it is too small.
void attend(const RowAttention& attention, std::vector<float>& weights, float* context);

}  // namespace filigree::translate
