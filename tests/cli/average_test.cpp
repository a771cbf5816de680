// filigree average as a program, on checkpoints that filigree train made.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/cli/process.h"
#include "tests/cli/toy_corpus.h"

namespace filigree::test {
namespace {

using testing::HasSubstr;

TEST(Average, MakesAModelThatTranslates) {
  const ToyFolder toy;
  const Outcome training =
      run_filigree(toy.train_command(toy / "model", {"--save-every", "20", "--keep-last", "3"}));
  ASSERT_EQ(training.exit_code, 0) << training.err;

  const Outcome best =
      run_filigree({"average", "--model", toy / "best", "--best", "2", toy / "model"});
  ASSERT_EQ(best.exit_code, 0) << best.err;
  EXPECT_EQ(best.out, "");
  EXPECT_THAT(best.err, HasSubstr("averaged " + toy / "model/step_000000040"));
  const Outcome translation =
      run_filigree({"translate", "--model", toy / "best"}, "one red cat\ntwo\n");
  EXPECT_EQ(translation.exit_code, 0) << translation.err;
  EXPECT_EQ(std::count(translation.out.begin(), translation.out.end(), '\n'), 2);

  // Of one checkpoint: its own weights, to the bit.
  const Outcome last =
      run_filigree({"average", "--model", toy / "last", "--last", "1", toy / "model"});
  ASSERT_EQ(last.exit_code, 0) << last.err;
  EXPECT_EQ(content_of(toy / "last/model.safetensors"),
            content_of(toy / "model/step_000000040/model.safetensors"));

  const Outcome again =
      run_filigree({"average", "--model", toy / "last", "--last", "1", toy / "model"});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.err, HasSubstr("last: exists already"));
  const Outcome more =
      run_filigree({"average", "--model", toy / "x", "--last", "9", toy / "model"});
  EXPECT_EQ(more.exit_code, 1);
  EXPECT_THAT(more.err, HasSubstr("--keep-last"));
}

TEST(Average, GivenWronglyIsAUsageError) {
  const std::vector<std::vector<std::string>> commands = {
      {"average", "--model", "x"},
      {"average", "a", "b"},
      {"average", "--model", "x", "--last", "2", "--best", "2", "a"},
      {"average", "--model", "x", "--last", "2", "a", "b"},
      {"average", "--model", "x", "--last", "0", "a"},
      {"average", "--model", "x", "--best", "2", "--metric", "ter", "a"}};
  for (const auto& command : commands) {
    const Outcome outcome = run_filigree(command);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("error: "));
  }
}

}  // namespace
}  // namespace filigree::test
