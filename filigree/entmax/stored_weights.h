// How a block of weights lies in WeightMemory: this header, padded to 64 bytes; the values, [rows,
// pitch] or one per entry; then, for entries, their keys and the beginning of every row.
#pragma once

#include <cstdint>

#include "filigree/entmax/sparse_attention.h"

namespace filigree::entmax_kernels {

struct StoredWeights {
  int64_t pitch;    ///< of dense rows; 0: entries
  int64_t entries;  ///< that are not 0
};

inline constexpr int64_t kStoredValues = 64;

template <typename T>
int64_t stored_dense_bytes(int64_t rows, int64_t pitch) {
  return kStoredValues + rows * pitch * static_cast<int64_t>(sizeof(T));
}

template <typename T>
int64_t stored_entries_bytes(int64_t rows, int64_t entries) {
  const auto entry = static_cast<int64_t>(sizeof(T) + sizeof(int32_t));
  return kStoredValues + entries * entry + (rows + 1) * static_cast<int64_t>(sizeof(int32_t));
}

}  // namespace filigree::entmax_kernels
