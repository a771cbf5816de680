#include "tests/support/small_disk.h"

#include <sched.h>
#include <sys/mount.h>

#include <stdexcept>

namespace filigree::test {
namespace {

/// Once per process: mounts made from here on are seen by nobody else.
bool enter_own_namespace() {
  static const bool entered =
      unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  return entered;
}

}  // namespace

std::unique_ptr<SmallDisk> SmallDisk::mount(int64_t bytes) {
  if (!enter_own_namespace()) return nullptr;
  std::unique_ptr<SmallDisk> disk(new SmallDisk);
  const std::string options = "size=" + std::to_string(bytes);
  if (::mount("tmpfs", disk->path().c_str(), "tmpfs", 0, options.c_str()) != 0) return nullptr;
  return disk;
}

SmallDisk::~SmallDisk() { umount2(folder_.path().c_str(), MNT_DETACH); }

void SmallDisk::make_read_only() {
  if (::mount(nullptr, path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
    throw std::runtime_error("cannot make the small disk read-only");
  }
}

}  // namespace filigree::test
