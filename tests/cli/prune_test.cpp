// filigree prune as a program: the smaller model is one like any other.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/matchers.h"
#include "tests/cli/process.h"
#include "tests/cli/toy_corpus.h"

namespace filigree::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class Prune : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    toy_ = new ToyFolder;
    const Outcome training = run_filigree(toy_->train_command(
        *toy_ / "model", {"--heads", "4", "--max-steps", "120", "--valid-every", "60"}));
    ASSERT_EQ(training.exit_code, 0) << training.err;
    ASSERT_EQ(prune("model", "small", {"--max-bleu-drop", "8", "--json", file("small.json")}), 0);
    ASSERT_EQ(prune("model", "bare", {"--max-bleu-drop", "100", "--by", "similarity"}), 0);
  }
  static void TearDownTestSuite() { delete toy_; }

  static std::string file(const std::string& name) { return *toy_ / name; }
  static Outcome run_prune(const std::string& model, const std::string& output,
                           const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {"prune",           "--model",        file(model),
                                        "--output",        file(output),     "--valid-sets",
                                        file("valid.src"), file("valid.trg")};
    command.insert(command.end(), more.begin(), more.end());
    return run_filigree(command);
  }
  static int prune(const std::string& model, const std::string& output,
                   const std::vector<std::string>& more) {
    const Outcome outcome = run_prune(model, output, more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.exit_code;
  }
  static json config_of(const std::string& model) {
    return json::parse(content_of(file(model + "/config.json")));
  }
  static ToyFolder* toy_;
};
ToyFolder* Prune::toy_ = nullptr;

TEST_F(Prune, StaysWithinTheGuardAsOtherCommandsMeasureIt) {
  const json pruning = json::parse(content_of(file("small.json")));
  for (const auto& [model, scores] :
       {std::pair("model", pruning["before"]), std::pair("small", pruning["after"])}) {
    const Outcome translation =
        run_filigree({"translate", "--model", file(model), "--input", file("valid.src")});
    const Outcome bleu = run_filigree(
        {"evaluate", "--ref", file("valid.trg"), "--json", "--metrics", "bleu", "--width", "4"},
        translation.out);
    ASSERT_EQ(bleu.exit_code, 0) << bleu.err;
    EXPECT_NEAR(json::parse(bleu.out).front()["score"].get<double>(), scores["bleu"].get<double>(),
                1e-3)
        << model;
  }
  EXPECT_LE(pruning["before"]["bleu"].get<double>() - pruning["after"]["bleu"].get<double>(), 8);
  EXPECT_GT(pruning["before"]["bleu"], 5);
}

TEST_F(Prune, WritesASmallerModelAndSaysWhatIsGone) {
  const json pruning = json::parse(content_of(file("small.json")));
  const size_t gone = pruning["removed"].size();
  EXPECT_GE(gone, 1u);
  EXPECT_EQ(pruning["before"]["heads"], 12);
  EXPECT_EQ(pruning["after"]["heads"], 12 - gone);
  // Of a head of size 8 in a model of width 32: three projections with biases, the output's, α.
  EXPECT_EQ(
      pruning["before"]["parameters"].get<size_t>() - pruning["after"]["parameters"].get<size_t>(),
      gone * (3 * 8 * 33 + 8 * 32 + 1));
  EXPECT_LT(std::filesystem::file_size(file("small/model.safetensors")),
            std::filesystem::file_size(file("model/model.safetensors")));
  EXPECT_EQ(pruning["config"], config_of("small"));
  for (const json& head : pruning["removed"]) {
    EXPECT_NE(head["head"], head["nearest_head"]);
    EXPECT_GT(head["divergence"], 0);
  }
  const Outcome info = run_filigree({"info", file("small")});
  EXPECT_THAT(info.out,
              HasSubstr("4 heads (of 12 in all, " + std::to_string(gone) + " are pruned)"));
}

TEST_F(Prune, LeavesOneHeadInEveryLayer) {
  const json config = config_of("bare");
  for (const char* block : {"encoder_heads", "cross_heads", "decoder_heads"}) {
    EXPECT_EQ(config[block], json({1}));
  }
  EXPECT_THAT(run_prune("bare", "none", {"--max-bleu-drop", "100", "--log-level", "error"}),
              FailsWith(1, HasSubstr("bare: no head can go")));
  EXPECT_FALSE(std::filesystem::exists(file("none")));
}

TEST_F(Prune, AllCommandsTakeTheSmallerModel) {
  const std::vector<std::vector<std::string>> commands = {
      {"translate", "--input", file("test.src"), "--json", "--coverage-penalty", "0.2"},
      {"score", file("test.src"), file("test.trg")},
      {"align", file("test.src"), file("test.trg")},
      {"inspect", file("test.src"), file("test.trg"), "--compare", file("model"), "--report",
       file("report.html")}};
  for (std::vector<std::string> command : commands) {
    for (const char* model : {"small", "bare"}) {
      command.insert(command.begin() + 1, {"--model", file(model)});
      const Outcome outcome = run_filigree(command);
      EXPECT_EQ(outcome.exit_code, 0) << command[0] << ": " << outcome.err;
      EXPECT_THAT(outcome.out, Not(testing::IsEmpty()));
      command.erase(command.begin() + 1, command.begin() + 3);
    }
  }
}

TEST_F(Prune, HeadsForAlignmentAreChosenAmongThoseLeft) {
  const Outcome outcome =
      run_filigree({"align", "--model", file("bare"), file("test.src"), file("test.trg"),
                    "--choose-heads", "--reverse-model", file("bare")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::ContainsRegex("\n +0 no +-?[0-9.]+\n +0 yes +-?[0-9.]+\n"));
  EXPECT_THAT(outcome.out, HasSubstr("alignment_heads  [[0, 0]]"));
}

TEST_F(Prune, TrainingGoesOnFromTheSmallerModel) {
  const auto train = [&](const std::string& model, const std::vector<std::string>& more) {
    std::vector<std::string> command = {"train",
                                        "--model",
                                        file(model),
                                        "--init-from",
                                        file("small"),
                                        "--train-sets",
                                        file("train.src"),
                                        file("train.trg"),
                                        "--valid-sets",
                                        file("valid.src"),
                                        file("valid.trg"),
                                        "--max-steps",
                                        "3",
                                        "--valid-every",
                                        "3",
                                        "--batch-tokens",
                                        "256",
                                        "--log-level",
                                        "error"};
    command.insert(command.end(), more.begin(), more.end());
    return run_filigree(command);
  };
  const json small = config_of("small");
  const Outcome same = train("tuned", {});
  ASSERT_EQ(same.exit_code, 0) << same.err;
  EXPECT_EQ(config_of("tuned"), small);
  // A layer that is new has all heads.
  const Outcome deeper = train("deeper", {"--encoder-layers", "2"});
  ASSERT_EQ(deeper.exit_code, 0) << deeper.err;
  json heads = small.value("encoder_heads", json({4}));
  heads.push_back(4);
  EXPECT_EQ(config_of("deeper").value("encoder_heads", json({4, 4})), heads);
  EXPECT_THAT(train("other", {"--heads", "8"}), FailsWith(1, HasSubstr("--heads 4")));
}

TEST_F(Prune, KeepsTheHeadsOfAlignmentsAndCountsThemAnew) {
  std::filesystem::copy(file("model"), file("aligned"), std::filesystem::copy_options::recursive);
  toy_->write("aligned/generation_config.json", R"({"alignment_heads": [[0, 2]]})");
  ASSERT_EQ(prune("aligned", "aligned-bare", {"--max-bleu-drop", "100", "--by", "entropy"}), 0);
  EXPECT_EQ(config_of("aligned-bare")["cross_heads"], json({1}));
  EXPECT_EQ(json::parse(content_of(file("aligned-bare/generation_config.json")))["alignment_heads"],
            json::parse("[[0, 0]]"));
  const auto alpha_of = [](const std::string& model) {
    return json::parse(run_filigree({"info", file(model), "--json"}).out)["alpha"]["cross"][0];
  };
  EXPECT_EQ(alpha_of("aligned-bare")[0], alpha_of("aligned")[2]);
}

TEST_F(Prune, BadInputIsOneLineThatSaysWhat) {
  const std::vector<std::string> quiet = {"--log-level", "error"};
  EXPECT_THAT(run_prune("model", "small", quiet), FailsWith(1, HasSubstr("small: exists already")));
  EXPECT_THAT(run_prune("absent", "x", quiet), FailsWith(1, HasSubstr("absent: no such model")));
  EXPECT_THAT(run_filigree({"prune", "--model", file("model"), "--output", file("x"),
                            "--valid-sets", file("valid.src")}),
              FailsWith(2, HasSubstr("--valid-sets takes two files")));
  EXPECT_THAT(run_prune("model", "x", {"--by", "luck"}), FailsWith(2, HasSubstr("luck")));
  EXPECT_THAT(run_prune("model", "x", {"--max-bleu-drop", "-1"}),
              FailsWith(2, HasSubstr("--max-bleu-drop")));
}

}  // namespace
}  // namespace filigree::test
