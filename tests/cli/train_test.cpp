// filigree train as a program: bad input, bad places, signals, crashes.
#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "filigree/base/random.h"
#include "tests/cli/matchers.h"
#include "tests/cli/process.h"
#include "tests/cli/toy_corpus.h"
#include "tests/support/small_disk.h"

namespace filigree::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Train : public testing::Test {
 protected:
  /// Without log lines, so that a failure is exactly one line.
  Outcome quiet(const std::string& model, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--log-level", "error"});
    return run_filigree(folder_.train_command(model, more));
  }
  Outcome quiet_on(const std::string& source, const std::string& target) {
    return quiet(folder_ / "model",
                 {"--train-sets", folder_.write("a.src", source), folder_.write("a.trg", target)});
  }

  ToyFolder folder_;
};

TEST_F(Train, BadTextIsOneLineWithItsPlace) {
  EXPECT_THAT(quiet_on("one\ntwo\nred\n", "eins\nzwei\n"),
              FailsWith(1, AllOf(HasSubstr("a.src"), HasSubstr("a.trg"), HasSubstr("2"))));
  EXPECT_THAT(quiet_on("", ""), FailsWith(1, AllOf(HasSubstr("a.src"), HasSubstr("empty"))));
  EXPECT_THAT(quiet_on("one\nt\xffo\n", "eins\nzwei\n"),
              FailsWith(1, AllOf(HasSubstr("a.src:2"), HasSubstr("UTF-8"))));
  EXPECT_THAT(quiet(folder_ / "model", {"--train-sets", folder_ / "absent", folder_ / "train.trg"}),
              FailsWith(1, HasSubstr("absent: cannot open: No such file or directory")));
  EXPECT_THAT(
      quiet(folder_ / "model", {"--valid-sets", folder_ / "valid.src", folder_ / "test.trg"}),
      FailsWith(1, AllOf(HasSubstr("valid.src"), HasSubstr("test.trg"))));
}

TEST_F(Train, BadOptionsAreOneLine) {
  EXPECT_THAT(quiet(folder_ / "model", {"--max-steps", "0", "--patience", "0"}),
              FailsWith(2, HasSubstr("--max-steps")));
  EXPECT_THAT(quiet(folder_ / "model", {"--d-model", "33"}), FailsWith(2, HasSubstr("d_model")));
  EXPECT_THAT(quiet(folder_ / "model", {"--loss", "hinge"}), FailsWith(2, HasSubstr("--loss")));
  EXPECT_THAT(quiet(folder_ / "model", {"--loss", "entmax", "--loss-alpha", "0.9"}),
              FailsWith(2, HasSubstr("--loss-alpha")));
  EXPECT_THAT(run_filigree({"train", "--model", folder_ / "model"}),
              FailsWith(2, HasSubstr("--train-sets is required")));
  const std::string yaml = folder_.write("train.yaml", "max-steps: 5\nlearnign-rate: 0.1\n");
  EXPECT_THAT(quiet(folder_ / "model", {"--config", yaml}),
              FailsWith(2, AllOf(HasSubstr("train.yaml:2"), HasSubstr("learning-rate"))));
}

TEST_F(Train, AFileInPlaceOfTheModelFolderIsOneLine) {
  const std::string file = folder_.write("occupied", "");
  EXPECT_THAT(quiet(file), FailsWith(1, StartsWith("error: " + file + ": ")));
  EXPECT_THAT(quiet(file + "/below"), FailsWith(1, StartsWith("error: " + file + "/below: ")));
}

TEST_F(Train, AReadOnlyDiskIsOneLine) {
  FILIGREE_MOUNT_OR_SKIP(disk, 1 << 20);
  disk->make_read_only();
  EXPECT_THAT(quiet(*disk / "model"), FailsWith(1, HasSubstr("Read-only file system")));
}

TEST_F(Train, AFullDiskIsOneLineAndLeavesNoHalfFiles) {
  FILIGREE_MOUNT_OR_SKIP(disk, 400 << 10);
  EXPECT_THAT(quiet(*disk / "model"), FailsWith(1, HasSubstr("No space left on device")));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(disk->path())) {
    EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos) << entry.path();
  }
}

TEST_F(Train, AFullDiskLosesNothingThatWasSaved) {
  FILIGREE_MOUNT_OR_SKIP(disk, 3 << 20);
  ASSERT_EQ(run_filigree(folder_.train_command(folder_ / "whole")).exit_code, 0);
  const std::string model = *disk / "model";
  EXPECT_THAT(quiet(model, {"--save-every", "1", "--keep-last", "1000"}),
              FailsWith(1, HasSubstr("No space left on device")));
  std::filesystem::remove_all(model + "/step_000000001");  // what its owner does then
  const Outcome finished = run_filigree(folder_.train_command(model, {"--keep-last", "1"}));
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("going on from step"));
  EXPECT_TRUE(content_of(model + "/model.safetensors") ==
              content_of(folder_ / "whole/model.safetensors"));
}

TEST_F(Train, ACorpusSmallerThanABatchWorks) {
  const ToyCorpus corpus = toy_corpus(3, 9);
  const Outcome outcome =
      quiet(folder_ / "model", {"--train-sets", folder_.write("a.src", corpus.source),
                                folder_.write("a.trg", corpus.target), "--batch-tokens", "100000",
                                "--max-steps", "3"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(run_filigree({"info", folder_ / "model"}).exit_code, 0);
}

TEST_F(Train, ByEntmaxLossItMakesAModelThatTranslates) {
  const std::string model = folder_ / "model";
  ASSERT_EQ(quiet(model, {"--loss", "entmax", "--label-smoothing", "0"}).exit_code, 0);
  EXPECT_THAT(run_filigree({"info", model}).out, HasSubstr("output       entmax, α 1.5\n"));
  const Outcome lists = run_filigree({"translate", "--model", model, "--n-best", "20"},
                                     content_of(folder_ / "test.src"));
  EXPECT_EQ(lists.exit_code, 0) << lists.err;
  EXPECT_THAT(lists.out, testing::Not(HasSubstr("inf")));
  EXPECT_THAT(lists.out, HasSubstr("\n39 ||| "));
  const Outcome greedy =
      run_filigree({"translate", "--model", model, "--beam-size", "1"}, "one cat\n\nred dog\n");
  EXPECT_EQ(std::count(greedy.out.begin(), greedy.out.end(), '\n'), 3);
}

TEST_F(Train, ATrainingOfAnotherShapeIsRefused) {
  ASSERT_EQ(quiet(folder_ / "model", {"--max-steps", "5"}).exit_code, 0);
  EXPECT_THAT(quiet(folder_ / "model", {"--d-ff", "48"}),
              FailsWith(1, HasSubstr("another architecture")));
}

TEST_F(Train, TokenisedTextIsKeptAndRepaired) {
  const auto train = [&](const std::string& steps) {
    return run_filigree(folder_.train_command(folder_ / "model", {"--max-steps", steps}));
  };
  const Outcome first = train("5");
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("tokenising"));
  EXPECT_THAT(train("6").err, testing::Not(HasSubstr("tokenising")));

  std::filesystem::path pairs;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "model/cache")) {
    if (entry.path().extension() == ".pairs") pairs = entry.path();
  }
  std::string bytes = content_of(pairs);
  for (size_t i = 16; i < bytes.size() / 4; ++i) bytes[i] = 'x';  // the first pairs
  std::ofstream(pairs, std::ios::binary) << bytes;
  EXPECT_THAT(train("10"), EndsWithError(1, HasSubstr("will be made again")));
  const Outcome repaired = train("10");
  EXPECT_EQ(repaired.exit_code, 0) << repaired.err;
  EXPECT_THAT(repaired.err, HasSubstr("tokenising"));
}

TEST_F(Train, FiltersAreCounted) {
  const Outcome outcome = run_filigree(folder_.train_command(
      folder_ / "model", {"--max-steps", "5", "--drop-duplicates", "--scripts", "Latin", "Latin"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err,
              testing::ContainsRegex("left out [0-9]+ of 600 pairs: [0-9]+ duplicates"));
}

TEST_F(Train, StoppedAndContinuedEqualsUninterrupted) {
  ASSERT_EQ(run_filigree(folder_.train_command(folder_ / "whole")).exit_code, 0);

  Process first(filigree(folder_.train_command(folder_ / "parts")));
  ASSERT_TRUE(first.wait_for("step     10")) << first.err();
  first.send(SIGTERM);
  const Outcome stopped = first.wait();
  EXPECT_THAT(stopped, EndsWithError(128 + SIGTERM, HasSubstr("signal 15")));
  EXPECT_THAT(stopped.err, HasSubstr("saved step"));

  const Outcome finished = run_filigree(folder_.train_command(folder_ / "parts"));
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("going on from step"));
  EXPECT_TRUE(content_of(folder_ / "parts/model.safetensors") ==
              content_of(folder_ / "whole/model.safetensors"));
  EXPECT_EQ(run_filigree(folder_.train_command(folder_ / "parts")).exit_code, 0);
}

TEST_F(Train, AValidationIsLeftAtASignalAndRepeatedByTheSameCommand) {
  const ToyCorpus many = toy_corpus(1500, 9);  // A second or more to translate.
  const auto command = [&](const std::string& model) {
    return folder_.train_command(
        model, {"--max-steps", "20", "--valid-sets", folder_.write("many.src", many.source),
                folder_.write("many.trg", many.target)});
  };
  ASSERT_EQ(run_filigree(command(folder_ / "whole")).exit_code, 0);

  Process first(filigree(command(folder_ / "parts")));
  ASSERT_TRUE(first.wait_for("step     20")) << first.err();  // Validating comes next.
  first.send(SIGTERM);
  const Outcome stopped = first.wait();
  EXPECT_THAT(stopped, EndsWithError(128 + SIGTERM, HasSubstr("signal 15")));
  EXPECT_THAT(stopped.err, AllOf(HasSubstr("saved step 20"), Not(HasSubstr("validation  loss"))));

  const Outcome finished = run_filigree(command(folder_ / "parts"));
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("step     20  validation  loss"));
  EXPECT_TRUE(content_of(folder_ / "parts/model.safetensors") ==
              content_of(folder_ / "whole/model.safetensors"));
}

TEST_F(Train, KilledAtAnyMomentItGoesOn) {
  ASSERT_EQ(run_filigree(folder_.train_command(folder_ / "whole")).exit_code, 0);
  Random random(2024);
  const std::vector<std::string> command =
      folder_.train_command(folder_ / "killed", {"--save-every", "1"});
  for (int attempt = 0; attempt < 4; ++attempt) {
    Process process(filigree(command));
    process.wait_for(attempt == 0 ? "parameters" : "going on from step");
    std::this_thread::sleep_for(std::chrono::milliseconds(random.below(150)));
    process.send(SIGKILL);
    process.wait();
  }
  const Outcome finished = run_filigree(command);
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_TRUE(content_of(folder_ / "killed/model.safetensors") ==
              content_of(folder_ / "whole/model.safetensors"));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
    EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos) << entry.path();
  }
}

}  // namespace
}  // namespace filigree::test
