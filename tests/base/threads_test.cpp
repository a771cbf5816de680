#include "filigree/base/threads.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "filigree/base/error.h"

namespace filigree {
namespace {

TEST(UsableCores, FollowsTheAffinityOfTheProcess) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(usable_cores(), CPU_COUNT(&before));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(usable_cores(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

TEST(RunParallel, RunsEveryIndexOnceOnItsOwnThread) {
  std::vector<std::thread::id> ids(4);
  std::atomic<int> arrived{0};
  run_parallel(4, [&](int index) {
    ids[static_cast<size_t>(index)] = std::this_thread::get_id();
    ++arrived;
    while (arrived < 4) std::this_thread::yield();  // Ends only when all four run at a time.
  });
  EXPECT_EQ(arrived, 4);
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  for (size_t i = 1; i < 4; ++i) EXPECT_NE(ids[i], ids[0]);
}

TEST(RunParallel, ZeroRunsNothing) {
  run_parallel(0, [](int) { FAIL(); });
}

TEST(RunParallel, ThrowsTheFirstFailureAfterAllHaveEnded) {
  std::atomic<int> ended{0};
  try {
    run_parallel(3, [&](int index) {
      ++ended;
      if (index > 0) throw Error("thread {}", index);
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "thread 1");
  }
  EXPECT_EQ(ended, 3);
}

}  // namespace
}  // namespace filigree
