// filigree evaluate as a program.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/matchers.h"
#include "tests/cli/process.h"

namespace filigree::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class Evaluate : public testing::Test {
 protected:
  TemporaryFolder folder_;
  const std::string text_ = "The cat sat on the mat.\nIt was not amused at all.\n";
  const std::string ref_ = folder_.write("ref.txt", text_);
};

TEST_F(Evaluate, EqualTextScoresAHundred) {
  const Outcome outcome = run_filigree({"evaluate", "--ref", ref_, "--hyp", ref_});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp"),
                                 HasSubstr("= 100.00 "), HasSubstr("chrF2|")));
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Evaluate, ReadsStandardInputByDefault) {
  const Outcome outcome = run_filigree({"evaluate", "--ref", ref_, "-b", "-m", "chrf"}, text_);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "100.00\n");
}

TEST_F(Evaluate, JsonHasOneObjectPerMetric) {
  const Outcome outcome =
      run_filigree({"evaluate", "--ref", ref_, "--json", "--confidence", "--samples", "50"}, text_);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["name"], "BLEU");
  EXPECT_EQ(json[0]["score"], 100.0);
  EXPECT_TRUE(json[0].contains("confidence"));
}

TEST_F(Evaluate, SeveralSystemsAreCompared) {
  const std::string other = folder_.write("other.txt", "A cat sat.\nIt was amused.\n");
  const Outcome outcome = run_filigree({"evaluate", "-r", ref_, "-i", ref_, other});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("Baseline: " + ref_), HasSubstr("p = ")));
}

TEST_F(Evaluate, SentenceLevelPrintsALinePerLine) {
  const Outcome outcome = run_filigree({"evaluate", "-r", ref_, "--sentence-level"}, text_);
  EXPECT_EQ(outcome.out, "100.00\t100.00\n100.00\t100.00\n") << outcome.err;
}

TEST_F(Evaluate, BadInputIsOneLine) {
  const auto evaluate = [this](const std::string& hypotheses) {
    return run_filigree({"evaluate", "--ref", ref_, "--hyp", "-"}, hypotheses);
  };
  EXPECT_THAT(evaluate("only one line\n"),
              FailsWith(1, AllOf(HasSubstr("standard input"), HasSubstr("1"), HasSubstr("2"))));
  EXPECT_THAT(evaluate(""), FailsWith(1, HasSubstr("standard input")));
  EXPECT_THAT(evaluate("fine\nb\xff\xff\n"),
              FailsWith(1, StartsWith("error: standard input: line 2: not valid UTF-8")));
  EXPECT_THAT(run_filigree({"evaluate", "--ref", folder_ / "absent"}),
              FailsWith(1, HasSubstr("absent: cannot open: No such file or directory")));
  EXPECT_THAT(run_filigree({"evaluate", "--ref", folder_.path().string()}),
              FailsWith(1, HasSubstr("is a folder, expected a file")));
  const std::string longer = folder_.write("longer.txt", text_ + "one more\n");
  EXPECT_THAT(run_filigree({"evaluate", "--ref", ref_, longer}, text_),
              FailsWith(1, AllOf(HasSubstr(longer), HasSubstr("3"), HasSubstr("2"))));
}

TEST_F(Evaluate, BadOptionsAreOneLine) {
  EXPECT_THAT(run_filigree({"evaluate"}), FailsWith(2, HasSubstr("--ref is required")));
  EXPECT_THAT(run_filigree({"evaluate", "-r", ref_, "-m", "meteor"}),
              FailsWith(2, HasSubstr("--metrics: expected bleu, chrf or chrf++, got 'meteor'")));
  EXPECT_THAT(run_filigree({"evaluate", "-r", ref_, "--tokenize", "moses"}),
              FailsWith(2, AllOf(HasSubstr("--tokenize: "), HasSubstr("moses"), HasSubstr("13a"))));
  EXPECT_THAT(run_filigree({"evaluate", "-r", ref_, "-m", "bleu", "bleu"}, text_),
              FailsWith(2, HasSubstr("twice")));
}

TEST_F(Evaluate, AFullDiskIsAnError) {
  const Outcome outcome =
      run({"sh", "-c", "\"$0\" evaluate -r \"$1\" -i \"$1\" > /dev/full", FILIGREE_PROGRAM, ref_});
  EXPECT_THAT(outcome,
              FailsWith(1, "error: standard output: cannot write: No space left on device\n"));
}

TEST_F(Evaluate, AClosedPipeIsQuiet) {
  const Outcome outcome =
      run({"sh", "-c",
           "{ sleep 0.2; \"$0\" evaluate -r \"$1\" -i \"$1\"; echo \"code $?\" >&2; } | true",
           FILIGREE_PROGRAM, ref_});
  EXPECT_EQ(outcome.err, "code 141\n");
}

}  // namespace
}  // namespace filigree::test
