// The allocator's settings. First touch of freshly mapped memory costs more than most kernels, so
// large buffers are kept by the process instead of going back to the system between steps.
#pragma once

#include <cstdint>

namespace filigree {

/// Makes malloc keep what is freed and serve every thread from one heap. Call it first in main.
void keep_freed_memory();

/// The most memory that the process has had so far, in bytes.
int64_t peak_memory();

}  // namespace filigree
