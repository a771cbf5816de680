#include "filigree/base/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>

namespace filigree {
namespace {

TEST(Error, FormatsItsArguments) {
  EXPECT_STREQ(Error("{}: line {}: broken", "a.txt", 3).what(), "a.txt: line 3: broken");
}

TEST(Error, TextWithoutArgumentsMayHoldBraces) {
  EXPECT_STREQ(Error(std::string("odd {name}")).what(), "odd {name}");
}

TEST(Error, UsageErrorAndInterruptedAreErrors) {
  EXPECT_THROW(throw UsageError("x"), Error);
  EXPECT_THROW(throw Interrupted(SIGTERM), Error);
}

TEST(Error, InterruptedKnowsItsSignal) {
  const Interrupted error(SIGTERM);
  EXPECT_EQ(error.signal(), SIGTERM);
  EXPECT_STREQ(error.what(), "stopped by signal 15 (Terminated)");
}

TEST(Error, SystemMessageIsErrno) {
  errno = ENOENT;
  EXPECT_EQ(system_message(), "No such file or directory");
}

}  // namespace
}  // namespace filigree
