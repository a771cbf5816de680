#include "filigree/base/progress.h"

#include <gtest/gtest.h>

namespace filigree {
namespace {

TEST(FormatCount, GroupsDigits) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(2349016), "2,349,016");
}

TEST(FormatDuration, PicksTheUnit) {
  EXPECT_EQ(format_duration(0), "0s");
  EXPECT_EQ(format_duration(12.4), "12s");
  EXPECT_EQ(format_duration(59.6), "1m00s");
  EXPECT_EQ(format_duration(185), "3m05s");
  EXPECT_EQ(format_duration(2 * 3600 + 7 * 60 + 30), "2h07m");
  EXPECT_EQ(format_duration(86400 * 4 + 3600 * 3), "4d03h");
  EXPECT_EQ(format_duration(-5), "0s");
}

TEST(NowSeconds, NeverGoesBack) {
  const double first = now_seconds();
  EXPECT_GE(now_seconds(), first);
}

TEST(ProgressBar, IsSilentWithoutATerminal) {
  testing::internal::CaptureStderr();
  {
    ProgressBar bar(10);
    bar.update(5, "half");
    bar.clear();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace filigree
