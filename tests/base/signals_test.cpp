#include "filigree/base/signals.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace filigree {
namespace {

TEST(SignalGuard, NotesTheFirstSignal) {
  SignalGuard guard;
  EXPECT_EQ(SignalGuard::received(), 0);
  raise(SIGTERM);
  EXPECT_EQ(SignalGuard::received(), SIGTERM);
}

TEST(SignalGuard, StartsAfresh) {
  {
    SignalGuard guard;
    raise(SIGINT);
  }
  SignalGuard guard;
  EXPECT_EQ(SignalGuard::received(), 0);
}

TEST(SignalGuardDeathTest, TheSecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        SignalGuard guard;
        raise(SIGINT);
        raise(SIGTERM);
      },
      testing::ExitedWithCode(128 + SIGTERM), "");
}

TEST(SignalGuardDeathTest, AfterItSignalsActAsBefore) {
  EXPECT_EXIT(
      {
        { SignalGuard guard; }
        raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace filigree
