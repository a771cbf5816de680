// A disk that fills up, for tests of what happens then.
#pragma once

#include <cstdint>
#include <memory>

#include "tests/support/temporary_folder.h"

namespace filigree::test {

/// A tmpfs of a few bytes, mounted in a mount namespace of this process (and of its children), so
/// that nothing stays behind even after a crash.
class SmallDisk {
 public:
  /// Null where this process may not mount; a test then skips, and says so.
  static std::unique_ptr<SmallDisk> mount(int64_t bytes);
  ~SmallDisk();

  const std::filesystem::path& path() const { return folder_.path(); }
  std::string operator/(const std::string& name) const { return folder_ / name; }
  void make_read_only();

 private:
  SmallDisk() = default;
  TemporaryFolder folder_;
};

/// Mounts `disk` or skips the test.
#define FILIGREE_MOUNT_OR_SKIP(disk, bytes)                    \
  const auto disk = ::filigree::test::SmallDisk::mount(bytes); \
  if (!disk) GTEST_SKIP() << "SKIPPED: mounting a small disk needs root (CAP_SYS_ADMIN)"

}  // namespace filigree::test
