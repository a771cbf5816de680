#include "filigree/base/folder_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>

#include "filigree/base/error.h"
#include "tests/support/temporary_folder.h"

namespace filigree {
namespace {

using test::TemporaryFolder;

TEST(FolderLock, TheSecondWaitsForTheFirst) {
  const TemporaryFolder folder;
  std::optional<FolderLock> first(std::in_place, folder.path(), [] { FAIL(); });
  ASSERT_TRUE(first->held());
  std::atomic<bool> waits = false, released = false, after_release = false;
  std::thread other([&] {
    const FolderLock second(folder.path(), [&] { waits = true; });
    after_release = released.load();
  });
  while (!waits) std::this_thread::yield();
  released = true;
  first.reset();
  other.join();
  EXPECT_TRUE(after_release);
}

TEST(FolderLock, AKilledHolderHoldsItNoMore) {
  const TemporaryFolder folder;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const FolderLock lock(folder.path(), [] {});
    if (write(ready[1], "x", 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const FolderLock lock(folder.path(), [] { FAIL(); });
  EXPECT_TRUE(lock.held());
  close(ready[0]);
  close(ready[1]);
}

TEST(FolderLock, AMissingFolderIsAnError) {
  const TemporaryFolder folder;
  EXPECT_THROW(FolderLock(folder.path() / "absent", [] {}), Error);
}

}  // namespace
}  // namespace filigree
