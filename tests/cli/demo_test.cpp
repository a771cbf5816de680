// filigree demo as a program, cut short.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/cli/matchers.h"
#include "tests/cli/process.h"

namespace filigree::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Demo, GoesAllTheWay) {
  const TemporaryFolder folder;
  const Outcome outcome = run_filigree({"demo", "--output", folder / "demo", "--target-language",
                                        "ja", "--train-size", "200", "--max-steps", "3"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("Held-out sentences"), HasSubstr("α of every head"),
                                 HasSubstr("decoder      2"), HasSubstr("exact match"),
                                 HasSubstr(folder / "demo/model-en-ja"),
                                 HasSubstr(folder / "demo/report.html")));
  for (const char* file :
       {"corpus/train.ja", "model-en-ja/config.json", "model-en-ja/model.safetensors",
        "model-en-ja/metrics.jsonl", "report.html"}) {
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "demo" / file)) << file;
  }
}

TEST(Demo, BadOptionsAndPlacesAreOneLine) {
  const TemporaryFolder folder;
  EXPECT_THAT(run_filigree({"demo", "--target-language", "xx"}),
              FailsWith(2, HasSubstr("expected de, ja or ro, got 'xx'")));
  EXPECT_THAT(
      run_filigree({"demo", "--output", folder.write("occupied", ""), "--log-level", "error"}),
      FailsWith(1, HasSubstr("occupied")));
}

}  // namespace
}  // namespace filigree::test
