// Packed sequences for tests.
#pragma once

#include <numeric>
#include <vector>

#include "filigree/base/random.h"
#include "filigree/model/sequences.h"

namespace filigree::model {

/// Sequences of these lengths whose tokens are 4, 5, 6, …
inline Sequences sequences_of(const std::vector<int>& lengths, int32_t first = 4) {
  std::vector<std::vector<int32_t>> tokens;
  for (const int length : lengths) {
    tokens.emplace_back(static_cast<size_t>(length));
    std::iota(tokens.back().begin(), tokens.back().end(), first);
    first += length;
  }
  return pack({tokens.begin(), tokens.end()}, -1, -1);
}

inline uint64_t mix_key(int i) { return mix(static_cast<uint64_t>(i)); }

}  // namespace filigree::model
