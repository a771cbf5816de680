// One process at a time in a folder.
#pragma once

#include <filesystem>
#include <functional>

namespace filigree {

/// While it lives, no other process (nor another FolderLock of this one) has the folder's lock. The
/// system gives it back when the process ends, however it ends.
class FolderLock {
 public:
  /// Takes the lock of an existing folder, a file `lock` in it that stays. Calls `on_wait` once
  /// before it waits for another holder. Throws Error when the file cannot be made. On file systems
  /// without locks it takes none, see held().
  FolderLock(const std::filesystem::path& folder, const std::function<void()>& on_wait);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;

  bool held() const { return held_; }

 private:
  int descriptor_ = -1;
  bool held_ = false;
};

}  // namespace filigree
