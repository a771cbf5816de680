#include "filigree/base/memory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace filigree {
namespace {

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// Whether a part of the heap is told to use huge pages.
bool heap_has_huge_pages() {
  std::ifstream maps("/proc/self/smaps");
  bool heap = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("[heap]") != std::string::npos) heap = true;
    if (heap && line.starts_with("VmFlags:")) {
      if (line.find(" hg") != std::string::npos) return true;
      heap = false;
    }
  }
  return false;
}

TEST(Memory, TheHeapHasHugePagesBeforeAnyOfItIsUsed) {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) {
    GTEST_SKIP() << "this system has no transparent huge pages";
  }
  // In a process of its own: what it sets cannot be taken back.
  EXPECT_EXIT(
      {
        const int64_t before = peak_memory();
        keep_freed_memory();
        const int64_t after = peak_memory();
        std::exit(heap_has_huge_pages() && after - before < (int64_t{16} << 20) ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

#endif

TEST(Memory, ThePeakFollowsWhatIsTouched) {
  const int64_t before = peak_memory();
  EXPECT_GT(before, 0);
  std::string touched(size_t{64} << 20, 'x');
  EXPECT_EQ(touched.back(), 'x');
  EXPECT_GE(peak_memory(), before);
  EXPECT_GE(peak_memory(), int64_t{64} << 20);
}

}  // namespace
}  // namespace filigree
