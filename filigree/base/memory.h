// The allocator's settings. First touch of freshly mapped memory costs more than most kernels, so
// large buffers are kept by the process instead of going back to the system between steps.
#pragma once

#include <cstddef>
#include <cstdint>

namespace filigree {

/// Makes malloc keep what is freed and serve every thread from one heap. Call it first in main.
void keep_freed_memory();

/// Asks the system for huge pages where nothing has been written to yet: reading many megabytes in
/// a row then waits less for address translation.
void prefer_huge_pages(void* memory, size_t bytes);

/// The most memory that the process has had so far, in bytes.
int64_t peak_memory();

}  // namespace filigree
