#include "filigree/base/log.h"

#include <gmock/gmock.h>

#include "filigree/base/error.h"

namespace filigree {
namespace {

std::string logged(const std::string& level) {
  testing::internal::CaptureStderr();
  set_up_logging(level);
  spdlog::debug("detail");
  spdlog::info("news");
  spdlog::warn("odd");
  spdlog::error("bad");
  std::string text = testing::internal::GetCapturedStderr();
  set_up_logging();
  return text;
}

TEST(Logging, NamesTheLevelFromWarningsUp) {
  EXPECT_THAT(logged("info"),
              testing::MatchesRegex("\\[..:..:..\\] news\n\\[..:..:..\\] warning: odd\n"
                                    "\\[..:..:..\\] error: bad\n"));
}

TEST(Logging, LevelsFilter) {
  EXPECT_THAT(logged("debug"), testing::HasSubstr("detail"));
  EXPECT_THAT(logged("error"), testing::Not(testing::HasSubstr("odd")));
  EXPECT_EQ(logged("off"), "");
}

TEST(Logging, UnknownLevelIsAUsageError) { EXPECT_THROW(set_up_logging("loud"), UsageError); }

}  // namespace
}  // namespace filigree
