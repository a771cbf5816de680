#include "filigree/base/memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <limits>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace filigree {
namespace {

// Huge pages save most of the page faults of a process that grows, and most of the misses of
// address translation later. A heap that has once been large, untouched, is told to get them; what
// lies beyond has small pages. No memory is used by this, except in sanitizers, which write down
// what is allocated.
void grow_by_huge_pages() {
#if defined(__GLIBC__) && defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
  // The system refuses what is larger than all of its memory.
  const size_t size =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE)) / 2;
  void* const heap = std::malloc(size);
  if (!heap) return;
  prefer_huge_pages(heap, size);
  std::free(heap);
#endif
}

}  // namespace

void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TOP_PAD, 64 << 20);
  mallopt(M_ARENA_MAX, 1);
#endif
  grow_by_huge_pages();
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
