#include "filigree/translate/key_value_cache.h"

namespace filigree::translate {

float* KeyValueCache::take() {
  constexpr int64_t kCells = 256;  // allocated at a time
  if (free_.empty()) {
    chunks_.emplace_back(new float[static_cast<size_t>(kCells * cell_size_)]);
    // The first to be taken are the first in memory.
    for (int64_t i = kCells - 1; i >= 0; --i) {
      free_.push_back(chunks_.back().get() + i * cell_size_);
    }
  }
  float* const cell = free_.back();
  free_.pop_back();
  return cell;
}

}  // namespace filigree::translate
