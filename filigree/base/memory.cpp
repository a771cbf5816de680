#include "filigree/base/memory.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <limits>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace filigree {

void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TOP_PAD, 64 << 20);
  mallopt(M_ARENA_MAX, 1);
#endif
}

void prefer_huge_pages(void* memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr uintptr_t kHugePage = 2 << 20;
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  // Whole pages, shared with what lies beside; the part of them that is not mapped does not matter.
  const uintptr_t first = begin / kHugePage * kHugePage;
  const uintptr_t end = (begin + bytes + kHugePage - 1) / kHugePage * kHugePage;
  madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
#else
  static_cast<void>(memory);
  static_cast<void>(bytes);
#endif
}

int64_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace filigree
