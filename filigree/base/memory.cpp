#include "filigree/base/memory.h"

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

}  // namespace filigree
