// Scratch memory of a kernel call: on the stack for ordinary rows, allocated once for long ones.
#pragma once

#include <hwy/aligned_allocator.h>

#include <cstddef>

namespace filigree::entmax_kernels {

template <class T, size_t kInline = 1024>
class Scratch {
 public:
  /// Room for at least `size` entries, aligned for vectors.
  explicit Scratch(size_t size) {
    if (size > kInline) allocated_ = hwy::AllocateAligned<T>(size);
  }
  T* data() { return allocated_ ? allocated_.get() : inline_; }

 private:
  alignas(HWY_ALIGNMENT) T inline_[kInline];
  hwy::AlignedFreeUniquePtr<T[]> allocated_;
};

}  // namespace filigree::entmax_kernels
