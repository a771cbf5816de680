// filigree score, align and evaluate --aer as programs, on a model that filigree train made.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/matchers.h"
#include "tests/cli/process.h"
#include "tests/cli/toy_corpus.h"

namespace filigree::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

class Score : public testing::Test {
 protected:
  Score() { copy_model(trained_toy() / "model", model()); }

  /// A copy, since the choice of heads is written into it.
  std::string model() const { return folder_ / "model"; }
  std::vector<std::string> command(const std::string& name,
                                   const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {name, "-m", model(), trained_toy() / "test.src",
                                      trained_toy() / "test.trg"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static std::string output_of(const std::vector<std::string>& command,
                               const std::string& input = "") {
    const Outcome outcome = run_filigree(command, input);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome.out;
  }

  TemporaryFolder folder_;
};

TEST_F(Score, PrintsOneLinePerPairWhateverTheBatches) {
  const std::string scores = output_of(command("score"));
  EXPECT_EQ(lines_of(scores).size(), 40u);
  const std::string others =
      output_of(command("score", {"--chunk-lines", "7", "--mini-batch", "3", "--threads", "2"}));
  for (size_t i = 0; i < 40; ++i) {
    EXPECT_NEAR(std::stod(lines_of(scores)[i]), std::stod(lines_of(others)[i]), 1e-4);
  }
}

TEST_F(Score, TakesTabSeparatedPairsAndEmptyLines) {
  const std::string both = output_of({"score", "-m", model(), "--tsv"}, "red\trot\n\t\nred\t\n");
  EXPECT_EQ(lines_of(both).size(), 3u);
}

TEST_F(Score, EqualsWhatTheSearchSays) {
  const std::string source = content_of(trained_toy() / "test.src");
  const auto list = lines_of(output_of({"translate", "-m", model(), "--n-best", "1"}, source));
  std::string outputs;
  std::vector<double> expected;
  for (const std::string& line : list) {
    const size_t text = line.find(" ||| ") + 5, features = line.find(" ||| F0= ");
    outputs += line.substr(text, features - text) + '\n';
    expected.push_back(std::stod(line.substr(features + 9)));
  }
  const std::string target = folder_.write("out", outputs);
  const auto scores =
      lines_of(output_of({"score", "-m", model(), trained_toy() / "test.src", target}));
  ASSERT_EQ(scores.size(), expected.size());
  for (size_t i = 0; i < scores.size(); ++i) EXPECT_NEAR(std::stod(scores[i]), expected[i], 1e-4);
}

TEST_F(Score, WordScoresAddUp) {
  for (const std::string& line : lines_of(output_of(command("score", {"--word-scores"})))) {
    const size_t words = line.find(" ||| WordScores= ");
    ASSERT_NE(words, std::string::npos) << line;
    std::istringstream values(line.substr(words + 17));
    double sum = 0;
    for (double value; values >> value;) sum += value;
    EXPECT_NEAR(sum, std::stod(line), 1e-4);
  }
}

TEST_F(Score, SummaryIsTheWhole) {
  double sum = 0;
  for (const std::string& line : lines_of(output_of(command("score")))) sum += std::stod(line);
  const auto json = nlohmann::json::parse(output_of(command("score", {"--summary", "--json"})));
  EXPECT_EQ(json["pairs"], 40);
  EXPECT_NEAR(json["log_probability"].get<double>(), sum, 1e-3);
  const double words = json["words"], entropy = json["word_cross_entropy"];
  EXPECT_NEAR(entropy, -sum / words, 1e-4);
  EXPECT_THAT(output_of(command("score", {"--summary"})), HasSubstr("word perplexity"));
}

TEST_F(Score, AddsAFeatureToNBestListsAndSortsThem) {
  const std::string source = folder_.write("src", "red cat\nblue dog\nold sun\n");
  const std::string list =
      folder_.write("list",
                    "0 ||| Katze ||| F0= -1 ||| -1.000000\n0 ||| rot Katze ||| F0= -2 ||| "
                    "-2.000000\n2 ||| alt Sonne ||| F0= -1 ||| -1.000000 ||| 0-0 1-1\n");
  const auto scored = lines_of(output_of({"score", "-m", model(), source, list, "--n-best"}));
  ASSERT_EQ(scored.size(), 3u);
  EXPECT_THAT(scored[0], StartsWith("0 ||| Katze ||| F0= -1 F1= -"));
  EXPECT_THAT(scored[2], HasSubstr(" ||| -1.000000 ||| 0-0 1-1"));
  const auto sorted = lines_of(output_of({"score", "-m", model(), source, list, "--n-best",
                                          "--rerank", "1", "--n-best-feature", "TM"}));
  EXPECT_THAT(sorted[0], StartsWith("0 ||| rot Katze ||| F0= -2 TM= -"));
  EXPECT_THAT(sorted[1], StartsWith("0 ||| Katze ||| "));
}

TEST_F(Score, JsonHasPlacesAndAttention) {
  const std::string line =
      output_of({"score", "-m", model(), "--tsv", "--json"}, "red cat\trot Katze\n");
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["source_word_spans"], nlohmann::json::parse("[[0, 3], [4, 7]]"));
  EXPECT_EQ(json["word_spans"], nlohmann::json::parse("[[0, 3], [4, 9]]"));
  const size_t pieces = json["pieces"].size();
  EXPECT_EQ(json["token_log_probabilities"].size(), pieces + 1);
  std::vector<double> sums(pieces + 1);
  for (const auto& weight : json["attention"]) sums.at(weight[2]) += weight[4].get<double>();
  for (const double sum : sums) EXPECT_NEAR(sum, 2, 1e-5);  // one layer, two heads
  const std::string without = output_of(
      {"score", "-m", model(), "--tsv", "--json", "--no-attention"}, "red cat\trot Katze\n");
  EXPECT_FALSE(nlohmann::json::parse(without).contains("attention"));
}

TEST_F(Score, BadInputIsOneLine) {
  const std::string src = folder_.write("src", "red\n"), two = folder_.write("two", "rot\nrot\n");
  EXPECT_THAT(run_filigree({"score", "-m", model(), src}), FailsWith(2, HasSubstr("two files")));
  EXPECT_THAT(run_filigree({"score", "-m", model(), src, two}), FailsWith(1, HasSubstr("1 lines")));
  EXPECT_THAT(run_filigree({"score", "-m", model(), src, two, "--n-best"}),
              FailsWith(1, HasSubstr("two:1: is no entry of an n-best list")));
  EXPECT_THAT(run_filigree({"score", "-m", model(), src,
                            folder_.write("beyond", "1 ||| rot ||| F0= -1 ||| -1\n"), "--n-best"}),
              FailsWith(1, HasSubstr("beyond:1: is of line 1, but")));
  EXPECT_THAT(run_filigree({"score", "-m", model(), src,
                            folder_.write("twice", "0 ||| rot ||| F1= -1 ||| -1\n"), "--n-best"}),
              FailsWith(2, HasSubstr("F1= already")));
  EXPECT_THAT(run_filigree(command("score", {"--rerank", "1"})),
              FailsWith(2, HasSubstr("--n-best")));
}

TEST_F(Score, HeadsAreChosenWrittenAndUsed) {
  std::string gold;
  for (const std::string& line : lines_of(content_of(trained_toy() / "test.trg"))) {
    const auto words = 1 + std::count(line.begin(), line.end(), ' ');
    for (int i = 0; i < words; ++i) gold += std::to_string(i) + '-' + std::to_string(i) + ' ';
    gold += '\n';
  }
  const std::string gold_file = folder_.write("gold", gold);
  const std::string chosen = output_of(command("align", {"--choose-heads", "--gold", gold_file}));
  EXPECT_THAT(chosen, AllOf(HasSubstr("head 1"), HasSubstr("alignment_heads  [[0, ")));
  const auto config = nlohmann::json::parse(content_of(model() + "/generation_config.json"));
  EXPECT_GE(config["alignment_heads"].size(), 1u);

  const std::string links = folder_.write("links", output_of(command("align")));
  const std::string rate =
      output_of({"evaluate", "--aer", "--ref", gold_file, "--hyp", links, "--score-only"});
  const double told = std::stod(chosen.substr(chosen.rfind("AER ") + 4));
  EXPECT_NEAR(std::stod(rate), 100 - told, 0.011);

  const auto scored = lines_of(output_of(command("score", {"--alignment"})));
  EXPECT_EQ(scored[3].substr(scored[3].find(" ||| ") + 5), lines_of(content_of(links))[3]);
}

TEST_F(Score, HeadsAreChosenByAModelOfTheOtherDirection) {
  // The words of the toy languages stand in the same order, so that the model itself will do.
  const std::string chosen =
      output_of({"align", "-m", model(), trained_toy() / "test.src", trained_toy() / "test.src",
                 "--choose-heads", "--reverse-model", model()});
  EXPECT_THAT(chosen, HasSubstr("agreement of every head"));
  EXPECT_THAT(run_filigree(command("align", {"--choose-heads"})),
              FailsWith(2, HasSubstr("--gold or --reverse-model")));
}

TEST_F(Score, TranslationsCarryAlignmentAndWordScores) {
  const std::string input = "red cat\n\nold sun\n";
  const auto plain = lines_of(output_of({"translate", "-m", model()}, input));
  const auto more =
      lines_of(output_of({"translate", "-m", model(), "--alignment", "--word-scores"}, input));
  ASSERT_EQ(more.size(), 3u);
  EXPECT_THAT(more[0], AllOf(StartsWith(plain[0] + " ||| "), HasSubstr(" ||| WordScores= -")));
  EXPECT_EQ(more[1], " |||  ||| WordScores= 0.000000");
  // The same links as by teacher forcing.
  std::string pairs;
  for (const size_t i : {size_t{0}, size_t{2}}) {
    pairs += lines_of(input)[i] + '\t' + plain[i] + '\n';
  }
  const auto forced = lines_of(output_of({"align", "-m", model(), "--tsv"}, pairs));
  EXPECT_THAT(more[0], HasSubstr(" ||| " + forced[0] + " ||| "));
  EXPECT_THAT(more[2], HasSubstr(" ||| " + forced[1] + " ||| "));
  const auto list = lines_of(output_of(
      {"translate", "-m", model(), "--n-best", "2", "--alignment", "--alignment-unit", "piece"},
      input));
  EXPECT_THAT(list[0], testing::MatchesRegex("0 \\|\\|\\| .* \\|\\|\\| F0= .* \\|\\|\\| -[0-9.]+ "
                                             "\\|\\|\\| [0-9 -]+"));
}

TEST_F(Score, TranslationsInJsonAreWholeObjects) {
  const auto lines =
      lines_of(output_of({"translate", "-m", model(), "--json", "--n-best", "2"}, "red cat\n\n"));
  ASSERT_EQ(lines.size(), 2u);
  const auto json = nlohmann::json::parse(lines[0]);
  EXPECT_EQ(json["source"], "red cat");
  ASSERT_EQ(json["n_best"].size(), 2u);
  EXPECT_GT(json["n_best"][0]["attention"].size(), 0u);
  EXPECT_EQ(nlohmann::json::parse(lines[1])["n_best"][0]["translation"], "");
  const auto best = nlohmann::json::parse(
      output_of({"translate", "-m", model(), "--json", "--no-attention"}, "red cat\n"));
  EXPECT_EQ(best["translation"], json["n_best"][0]["translation"]);
  EXPECT_FALSE(best.contains("attention"));
}

TEST_F(Score, AlignmentErrorRateNamesABadLine) {
  const std::string good = folder_.write("good", "0-0\n1-1\n"),
                    bad = folder_.write("bad", "0-0\nx\n");
  EXPECT_THAT(run_filigree({"evaluate", "--aer", "--ref", good, "--hyp", bad}),
              FailsWith(1, AllOf(HasSubstr("bad: line 2"), HasSubstr("'x' is not a link"))));
  EXPECT_EQ(output_of({"evaluate", "--aer", "--ref", good, "--hyp", good, "-b"}), "0.00\n");
}

}  // namespace
}  // namespace filigree::test
