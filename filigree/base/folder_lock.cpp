#include "filigree/base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "filigree/base/error.h"

namespace filigree {

FolderLock::FolderLock(const std::filesystem::path& folder, const std::function<void()>& on_wait) {
  const std::filesystem::path file = folder / "lock";
  descriptor_ = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw Error("{}: cannot write: {}", file.string(), system_message());
  held_ = flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
  if (held_ || errno != EWOULDBLOCK) return;
  on_wait();
  int result = 0;
  do {
    result = flock(descriptor_, LOCK_EX);
  } while (result != 0 && errno == EINTR);
  held_ = result == 0;
}

FolderLock::~FolderLock() { close(descriptor_); }

}  // namespace filigree
