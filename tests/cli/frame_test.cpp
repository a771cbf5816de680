// The frame around the commands, driven in this process with a command made for the test.
#include <gmock/gmock.h>

#include <csignal>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "filigree/base/error.h"
#include "filigree/cli/output.h"
#include "filigree/cli/program.h"
#include "tests/cli/matchers.h"

namespace filigree::cli {
namespace {

using test::FailsWith;
using testing::ElementsAre;
using testing::HasSubstr;

/// What the sample command was given.
struct Sample {
  std::vector<std::string> files;
  std::string model;
  int64_t beam_size = 4;
  double penalty = 1;
  std::optional<int> layers;
  bool alignment = false;
  int threads = 0;
  int runs = 0;
} sample;

std::function<void()> sample_action;

void add_sample(Program& program) {
  Command& command = program.add_command("sample", "A command for the tests");
  command.group("Data");
  command.option("--files", sample.files, "Two files")->expected(2)->type_name("SRC TGT");
  command.require(command.option("-m,--model", sample.model, "A model"));
  command.group("Search");
  at_least(command.option("-b,--beam-size", sample.beam_size, "Hypotheses"), 1);
  between(command.option("--penalty", sample.penalty, "Exponent"), 0, 2);
  command.option("--layers", sample.layers, "Layers");
  command.flag("--alignment", sample.alignment, "Print alignments");
  command.add_threads_option();
  command.action([&command] {
    ++sample.runs;
    sample.threads = command.threads();
    if (sample_action) sample_action();
  });
}

class Frame : public testing::Test {
 protected:
  void SetUp() override {
    sample = {};
    sample_action = nullptr;
  }

  test::Outcome run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "filigree");
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    test::Outcome outcome{};
    outcome.exit_code = run_program(static_cast<int>(words.size()), words.data(), add_sample);
    outcome.out = testing::internal::GetCapturedStdout();
    outcome.err = testing::internal::GetCapturedStderr();
    return outcome;
  }

  test::Outcome run_with_config(const std::string& yaml, std::vector<std::string> arguments = {}) {
    const std::string path = folder_.write("options.yaml", yaml);
    arguments.insert(arguments.begin(), {"sample", "--config", path});
    return run(arguments);
  }

  test::TemporaryFolder folder_;
};

TEST_F(Frame, OptionsReachTheCommand) {
  const auto outcome = run({"sample", "--model", "m", "--files", "a", "b", "-b", "7",
                            "--penalty=0.5", "--layers", "3", "--alignment", "--threads", "1"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(sample.runs, 1);
  EXPECT_EQ(sample.model, "m");
  EXPECT_THAT(sample.files, ElementsAre("a", "b"));
  EXPECT_EQ(sample.beam_size, 7);
  EXPECT_EQ(sample.penalty, 0.5);
  EXPECT_EQ(sample.layers, 3);
  EXPECT_TRUE(sample.alignment);
  EXPECT_EQ(sample.threads, 1);
}

TEST_F(Frame, HelpGoesToStandardOutput) {
  const auto outcome = run({"--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("  sample   "));
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Frame, HelpOfACommandIsGroupedAndShowsDefaults) {
  const auto outcome = run({"sample", "--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("Data:"));
  EXPECT_THAT(outcome.out, HasSubstr("Search:"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("-b, --beam-size N +Hypotheses \\[4\\]"));
  EXPECT_EQ(sample.runs, 0);
}

TEST_F(Frame, VersionNamesTheLibraries) {
  const auto outcome = run({"--version"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, testing::StartsWith("filigree "));
  EXPECT_THAT(outcome.out, HasSubstr("LibTorch "));
}

TEST_F(Frame, MistakesAreOneLineAndExitCodeTwo) {
  EXPECT_THAT(run({}), FailsWith(2, HasSubstr("no command given")));
  EXPECT_THAT(run({"sampel"}),
              FailsWith(2, HasSubstr("unknown command sampel; did you mean sample?")));
  EXPECT_THAT(run({"--verison"}), FailsWith(2, HasSubstr("did you mean --version?")));
  EXPECT_THAT(run({"sample", "--beamsize", "3"}),
              FailsWith(2, HasSubstr("unknown option --beamsize; did you mean --beam-size?")));
  EXPECT_THAT(run({"sample", "--model", "m", "stray"}),
              FailsWith(2, HasSubstr("unexpected argument stray")));
  EXPECT_THAT(run({"sample"}), FailsWith(2, HasSubstr("--model is required")));
  EXPECT_THAT(run({"sample", "--model"}), FailsWith(2, HasSubstr("--model")));
  EXPECT_THAT(run({"sample", "--files", "a"}), FailsWith(2, HasSubstr("--files")));
  EXPECT_THAT(run({"sample", "--beam-size", "two"}),
              FailsWith(2, HasSubstr("--beam-size: expected a whole number, got 'two'")));
  EXPECT_THAT(run({"sample", "--beam-size", "3.5"}), FailsWith(2, HasSubstr("whole number")));
  EXPECT_THAT(run({"sample", "--beam-size", "0"}),
              FailsWith(2, HasSubstr("expected at least 1, got 0")));
  EXPECT_THAT(run({"sample", "--penalty", "nan"}), FailsWith(2, HasSubstr("expected a number")));
  EXPECT_THAT(run({"sample", "--penalty", "2.1"}), FailsWith(2, HasSubstr("expected 0 to 2")));
  EXPECT_THAT(
      run({"sample", "--model", "m", "--log-level", "loud"}),
      FailsWith(2, HasSubstr("expected trace, debug, info, warn, error or off, got 'loud'")));
  EXPECT_EQ(sample.runs, 0);
}

TEST_F(Frame, TheLastOfARepeatedOptionCounts) {
  EXPECT_EQ(run({"sample", "--model", "a", "--model", "b"}).exit_code, 0);
  EXPECT_EQ(sample.model, "b");
}

TEST_F(Frame, NumbersAreDecimal) {
  EXPECT_EQ(run({"sample", "--model", "a", "--beam-size", "010"}).exit_code, 0);
  EXPECT_EQ(sample.beam_size, 10);
}

TEST_F(Frame, ConfigFileGivesOptions) {
  const auto outcome = run_with_config(
      "# a comment\nmodel: m\nfiles: [a, b]\nbeam-size: 9\npenalty: 0.25\nalignment: true\n");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(sample.model, "m");
  EXPECT_THAT(sample.files, ElementsAre("a", "b"));
  EXPECT_EQ(sample.beam_size, 9);
  EXPECT_EQ(sample.penalty, 0.25);
  EXPECT_TRUE(sample.alignment);
}

TEST_F(Frame, CommandLineGoesBeforeConfigFile) {
  const auto outcome = run_with_config("model: m\nfiles: [a, b]\nalignment: true\n",
                                       {"--files", "c", "d", "--alignment=false"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(sample.files, ElementsAre("c", "d"));
  EXPECT_FALSE(sample.alignment);
}

TEST_F(Frame, MistakesInConfigFileNameFileAndLine) {
  const auto at = [](int line, const std::string& what) {
    return FailsWith(2, HasSubstr("options.yaml:" + std::to_string(line) + ": " + what));
  };
  EXPECT_THAT(run_with_config("model: m\nbeamsize: 3\n"),
              at(2, "unknown key beamsize; did you mean beam-size?"));
  EXPECT_THAT(run_with_config("model: m\nbeam-size: many\n"),
              at(2, "--beam-size: expected a whole number"));
  EXPECT_THAT(run_with_config("beam-size: [1, 2]\n"),
              at(1, "beam-size: expected one value, got a list"));
  EXPECT_THAT(run_with_config("files: a\n"), at(1, "files: expected 2 values, got 1"));
  EXPECT_THAT(run_with_config("alignment: 7\n"), at(1, "alignment: expected true or false"));
  EXPECT_THAT(run_with_config("model:\n"), at(1, "model: has no value"));
  EXPECT_THAT(run_with_config("model: {a: 1}\n"), at(1, "model: expected a value or a list"));
  EXPECT_THAT(run_with_config("model: a\nmodel: b\n"), at(2, "model: given twice"));
  EXPECT_THAT(run_with_config("just text\n"), at(1, "expected lines of the form"));
  EXPECT_THAT(run_with_config("model: [a\n"), FailsWith(2, HasSubstr("not valid YAML")));
  EXPECT_THAT(run_with_config("config: x\n"), at(1, "unknown key config"));
  EXPECT_EQ(sample.runs, 0);
}

TEST_F(Frame, MissingConfigFileIsNamed) {
  EXPECT_THAT(run({"sample", "--config", folder_ / "absent.yaml"}),
              FailsWith(1, HasSubstr("absent.yaml: cannot open: No such file")));
}

TEST_F(Frame, DumpedConfigReadsBack) {
  const auto dumped =
      run({"sample", "--files", "a b", "null", "--penalty", "0.1", "--alignment", "--dump-config"});
  EXPECT_EQ(dumped.exit_code, 0) << dumped.err;
  EXPECT_EQ(sample.runs, 0);
  sample = {};
  const auto again = run_with_config(dumped.out, {"--dump-config"});
  EXPECT_EQ(again.out, dumped.out) << again.err;
  EXPECT_THAT(sample.files, ElementsAre("a b", "null"));
  EXPECT_EQ(sample.penalty, 0.1);
  EXPECT_TRUE(sample.alignment);
  EXPECT_FALSE(sample.layers);
}

TEST_F(Frame, FailuresBecomeOneLineAndTheirExitCode) {
  const auto run_throwing = [this](std::function<void()> action) {
    sample_action = std::move(action);
    return run({"sample", "--model", "m"});
  };
  EXPECT_THAT(run_throwing([] { throw Error("a.txt: line 3: broken"); }),
              FailsWith(1, "error: a.txt: line 3: broken\n"));
  EXPECT_THAT(run_throwing([] { throw UsageError("--x: no"); }), FailsWith(2, "error: --x: no\n"));
  EXPECT_THAT(run_throwing([] { throw Interrupted(SIGTERM); }),
              FailsWith(128 + SIGTERM, HasSubstr("signal 15")));
  EXPECT_THAT(run_throwing([] { throw std::bad_alloc(); }),
              FailsWith(1, HasSubstr("out of memory")));
  EXPECT_THAT(run_throwing([] { throw std::runtime_error("two\nlines\n"); }),
              FailsWith(1, "error: two lines\n"));
  const auto closed = run_throwing([] { throw OutputClosed(); });
  EXPECT_EQ(closed.exit_code, 128 + SIGPIPE);
  EXPECT_EQ(closed.err, "");
}

}  // namespace
}  // namespace filigree::cli
