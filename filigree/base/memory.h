// The allocator's settings. First touch of freshly mapped memory costs more than most kernels, so
// large buffers are kept by the process instead of going back to the system between steps.
#pragma once

namespace filigree {

/// Makes malloc keep what is freed and serve every thread from one heap. Call it first in main.
void keep_freed_memory();

}  // namespace filigree
