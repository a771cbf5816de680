#include <algorithm>

#include "filigree/entmax/stored_weights.h"

namespace filigree::entmax_kernels {
namespace {

constexpr int64_t kAlignment = 64;

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

std::byte* WeightMemory::reserve(int64_t bytes) {
  constexpr int64_t kLeast = int64_t{1} << 18, kMost = int64_t{1} << 26;
  if (used_ + bytes > chunk_.size) {
    // Chunks double, so that a small call takes little and a large one few.
    const int64_t next = std::clamp(2 * chunk_.size, kLeast, kMost);
    chunk_ = allocate_(std::max(next, aligned(bytes)));
    used_ = 0;
  }
  return chunk_.data + used_;
}

int64_t WeightMemory::commit(int64_t bytes) {
  const int64_t place = chunk_.id << kOffsetBits | used_;
  used_ += aligned(bytes);
  return place;
}

template <typename T>
WeightBlock<T> weight_block(const std::byte* place) {
  const auto& stored = *reinterpret_cast<const StoredWeights*>(place);
  const auto* const value = reinterpret_cast<const T*>(place + kStoredValues);
  if (stored.pitch > 0) return {true, stored.pitch, nullptr, nullptr, value};
  const auto* const key = reinterpret_cast<const int32_t*>(value + stored.entries);
  return {false, 0, key + stored.entries, key, value};
}

template WeightBlock<float> weight_block(const std::byte*);
template WeightBlock<double> weight_block(const std::byte*);

}  // namespace filigree::entmax_kernels
