#include "filigree/inspect/history.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace filigree::inspect {
namespace {

std::string validation(int step, double alpha) {
  return fmt::format(R"({{"type":"validation","step":{},"alpha":{{"encoder":[[{},1.5]]}}}})", step,
                     alpha);
}

TEST(History, IsAlphaByHeadOverTheValidations) {
  const test::TemporaryFolder folder;
  folder.write("metrics.jsonl", R"({"type":"train","step":1,"loss":2})"
                                "\n" +
                                    validation(2, 1.25) + "\n" + validation(4, 1.75) +
                                    "\n{\"type\":\"valid");
  const auto history = alpha_history(folder.path());
  EXPECT_EQ(history.dump(), R"({"steps":[2,4],"alpha":{"encoder":[[[1.25,1.75],[1.5,1.5]]]}})");
}

TEST(History, OfManyValidationsKeepsSomeAndTheLast) {
  const test::TemporaryFolder folder;
  std::string lines;
  for (int step = 1; step <= 1000; ++step) lines += validation(step, 1.1) + "\n";
  folder.write("metrics.jsonl", lines);
  const auto steps = alpha_history(folder.path())["steps"];
  EXPECT_LE(steps.size(), 300u);
  EXPECT_GE(steps.size(), 200u);
  EXPECT_EQ(steps.back(), 1000);
}

TEST(History, IsNullWithoutAlpha) {
  const test::TemporaryFolder folder;
  EXPECT_TRUE(alpha_history(folder.path()).is_null());
  folder.write("metrics.jsonl", "{\"step\":1}\n");
  EXPECT_TRUE(alpha_history(folder.path()).is_null());
}

}  // namespace
}  // namespace filigree::inspect
