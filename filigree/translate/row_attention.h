// Attention of one query per row to keys of its own, wherever they lie in memory: a step of
// incremental decoding. Vectorised, one thread, no LibTorch.
#pragma once

#include <cstdint>

namespace filigree::translate {

/// Row r has `lengths[r]` (at least one, at most `longest`) keys: keys[r][j] points to the D =
/// heads · head_size numbers of its j-th, and keys[r][j] + value_offset to its value.
struct RowAttention {
  int64_t rows;
  int64_t heads;
  int64_t head_size;
  const float* query;  ///< row r's at query + r · query_stride
  int64_t query_stride;
  const float* const* const* keys;
  int64_t value_offset;
  const int32_t* lengths;
  int64_t longest;
  const double* alpha;  ///< [heads], see entmax_kernels::forward()
};

/// Writes the context vectors [rows, D] and the attention weights [heads, rows, longest], which are
/// zero beyond a row's length. Values whose weight is zero are not read. A row's result does not
/// depend on the other rows.
void attend(const RowAttention& attention, float* weights, float* context);

}  // namespace filigree::translate
