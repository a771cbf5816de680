// filigree translate and info as programs, on a model that filigree train made.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <utility>

#include "tests/cli/matchers.h"
#include "tests/cli/process.h"
#include "tests/cli/toy_corpus.h"

namespace filigree::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// Tests that damage the model work on a copy.
class Translate : public testing::Test {
 protected:
  static std::string model() { return trained_toy() / "model"; }

  std::string copy_of_model() {
    const fs::path copy = folder_.path() / ("copy" + std::to_string(++copies_));
    copy_model(model(), copy);
    return copy.string();
  }
  /// A copy whose file `name` holds something else.
  std::string model_with(const std::string& name, const std::string& content) {
    const std::string copy = copy_of_model();
    folder_.write(fs::path(copy).filename().string() + "/" + name, content);
    return copy;
  }

  TemporaryFolder folder_;
  int copies_ = 0;
};

TEST_F(Translate, TrainTranslateEvaluate) {
  const Outcome translated =
      run_filigree({"translate", "--model", model()}, content_of(trained_toy() / "test.src"));
  EXPECT_EQ(translated.exit_code, 0) << translated.err;
  EXPECT_EQ(translated.err, "");
  EXPECT_EQ(std::count(translated.out.begin(), translated.out.end(), '\n'), 40);
  const Outcome score = run_filigree(
      {"evaluate", "--ref", trained_toy() / "test.trg", "-m", "chrf", "-b"}, translated.out);
  EXPECT_EQ(score.exit_code, 0) << score.err;
  // Eight seeds gave 83 to 94.
  EXPECT_GT(std::stod(score.out), 80);
}

TEST_F(Translate, EmptyLinesStayAndOrderIsKept) {
  const Outcome outcome = run_filigree({"translate", "-m", model()}, "\nred cat\n\n\nblue dog");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::MatchesRegex("\n[^\n]+\n\n\n[^\n]+\n"));
}

TEST_F(Translate, NoInputGivesNoOutput) {
  const Outcome outcome = run_filigree({"translate", "--model", model()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Translate, NBestListsAreInMosesForm) {
  const Outcome outcome =
      run_filigree({"translate", "-m", model(), "--n-best", "2"}, "red cat\nblue dog\n");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 4);
  EXPECT_THAT(outcome.out, AllOf(StartsWith("0 ||| "), HasSubstr("\n1 ||| "), HasSubstr("F0= -")));
}

TEST_F(Translate, BadInputIsOneLine) {
  EXPECT_THAT(run_filigree({"translate", "-m", model()}, "b\xff\n"),
              FailsWith(1, AllOf(HasSubstr("standard input"), HasSubstr("1"), HasSubstr("UTF-8"))));
  EXPECT_THAT(run_filigree({"translate", "-m", model(), "--input", folder_ / "absent"}),
              FailsWith(1, HasSubstr("absent: cannot open: No such file or directory")));
  EXPECT_THAT(
      run_filigree({"translate", "-m", model(), "--beam-size", "2", "--n-best", "3"}, "a\n"),
      FailsWith(2, AllOf(HasSubstr("n-best 3"), HasSubstr("beam size"))));
  EXPECT_THAT(run_filigree({"translate"}), FailsWith(2, HasSubstr("--model is required")));
}

TEST_F(Translate, LeadingBlanksAreKept) {
  const Outcome outcome = run_filigree({"translate", "-m", model()}, "red cat\n  red cat\n \t\n");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string text = outcome.out.substr(0, outcome.out.find('\n'));
  EXPECT_EQ(outcome.out, text + "\n  " + text + "\n \t\n");
}

TEST_F(Translate, InvalidBytesAreReplacedOnRequest) {
  const std::vector<std::string> command = {"translate", "-m", model(), "--replace-invalid"};
  const Outcome outcome = run_filigree(command, "red\nred \xff cat\n");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("standard input:2: is not valid UTF-8"));
  EXPECT_EQ(outcome.out, run_filigree(command, "red\nred \uFFFD cat\n").out);
}

TEST_F(Translate, PrefixesAndPhrasesAreKeptLineByLine) {
  const std::string source = "red cat\nblue dog\n";
  const std::vector<std::string> plain = {"translate", "-m", model(), "-b", "12"};
  const auto lines = [&](std::vector<std::string> options) {
    options.insert(options.begin(), plain.begin(), plain.end());
    const Outcome outcome = run_filigree(options, source);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    const size_t end = outcome.out.find('\n');
    return std::pair(outcome.out.substr(0, end + 1), outcome.out.substr(end + 1));
  };
  const auto [first, second] = lines({});
  const auto prefixed = lines({"--target-prefix", folder_.write("prefix", "neu \n\n")});
  EXPECT_THAT(prefixed.first, StartsWith("neu "));
  EXPECT_EQ(prefixed.second, second);
  const auto required =
      lines({"--require-phrases", folder_.write("phrases", "\nMond\talt gross\n")});
  EXPECT_EQ(required.first, first);
  EXPECT_THAT(required.second, AllOf(HasSubstr("Mond"), HasSubstr("alt gross")));
  ASSERT_THAT(first, HasSubstr("Katze"));
  const auto banned = lines({"--ban-phrases", folder_.write("banned", "Katze\n")});
  EXPECT_THAT(banned.first, testing::Not(HasSubstr("Katze")));
  EXPECT_EQ(banned.second, second);
}

TEST_F(Translate, PhrasesThatDoNotFitAreReportedByLine) {
  const std::string phrases = folder_.write("phrases", "\nMond\tSonne\tHund\n");
  const Outcome outcome = run_filigree({"translate", "-m", model(), "--max-length-factor", "0",
                                        "--max-length-offset", "2", "--require-phrases", phrases},
                                       "red\nblue\n");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("standard input:2: not all required phrases"));
}

TEST_F(Translate, SamplesDependOnTheSeedAndTheLineAlone) {
  std::string source;
  for (int i = 0; i < 20; ++i) source += i % 2 ? "red cat\n" : "big old moon\n";
  const auto sample = [&](const std::vector<std::string>& more) {
    std::vector<std::string> command = {"translate",     "-m",  model(),    "--sampling",
                                        "--temperature", "1.5", "--n-best", "3"};
    command.insert(command.end(), more.begin(), more.end());
    const Outcome outcome = run_filigree(command, source);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  };
  const std::string samples = sample({});
  EXPECT_EQ(std::count(samples.begin(), samples.end(), '\n'), 60);
  const auto texts = [](const std::string& list) {
    return std::regex_replace(list, std::regex(" F0= [^\n]*"), "");
  };
  EXPECT_EQ(texts(sample({"--mini-batch", "1"})), texts(samples));
  EXPECT_EQ(texts(sample({"--threads", "2"})), texts(samples));
  EXPECT_NE(texts(sample({"--seed", "2"})), texts(samples));
}

TEST_F(Translate, AnEnsembleOfOneModelTwiceIsThatModel) {
  const std::string source = content_of(trained_toy() / "test.src");
  const Outcome one = run_filigree({"translate", "-m", model()}, source);
  const Outcome two = run_filigree({"translate", "-m", model(), copy_of_model()}, source);
  EXPECT_EQ(two.exit_code, 0) << two.err;
  EXPECT_EQ(two.out, one.out);
}

TEST_F(Translate, TheCommandLineOverridesWhatTheModelSwitchesOn) {
  const std::string drawing = model_with(
      "generation_config.json", R"({"sampling": true, "allow_unk": true, "temperature": 50})");
  const auto translate = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"translate", "-m"});
    return run_filigree(options, "red cat\nblue dog\nold sun\n").out;
  };
  const std::string searched = translate({model()});
  EXPECT_NE(translate({drawing}), searched);
  EXPECT_EQ(translate({drawing, "--no-sampling", "--no-allow-unk"}), searched);
  EXPECT_EQ(translate({drawing, "--sampling", "--sampling=false"}), searched);
}

TEST_F(Translate, WrongSearchOptionsAreOneLine) {
  const auto translate = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"translate", "-m", model()});
    return run_filigree(options, "red\nblue\n");
  };
  EXPECT_THAT(translate({"--top-k", "3"}), FailsWith(2, HasSubstr("need --sampling")));
  EXPECT_THAT(translate({"--sampling", "--top-p", "0"}), FailsWith(2, HasSubstr("top-p")));
  EXPECT_THAT(translate({"--sampling", "--temperature", "0"}),
              FailsWith(2, HasSubstr("more than 0")));
  EXPECT_THAT(translate({"--coverage-penalty", "-1"}), FailsWith(2, HasSubstr("at least 0")));
  EXPECT_THAT(translate({"--repetition-penalty", "0.5"}), FailsWith(2, HasSubstr("at least 1")));
  const std::string one = folder_.write("one", "rot\n"), greek = folder_.write("greek", "\nΩ\n");
  EXPECT_THAT(translate({"--sampling", "--require-phrases", one}),
              FailsWith(2, HasSubstr("--require-phrases")));
  EXPECT_THAT(translate({"--target-prefix", "-"}), FailsWith(2, HasSubstr("standard input")));
  EXPECT_THAT(translate({"--target-prefix", folder_ / "absent"}),
              FailsWith(1, HasSubstr("absent")));
  // The lines before the bad one have been answered.
  EXPECT_THAT(translate({"--target-prefix", one}),
              EndsWithError(1, AllOf(HasSubstr("one: has 1 lines"), HasSubstr("fewer"))));
  EXPECT_THAT(translate({"--target-prefix", greek}),
              EndsWithError(1, AllOf(HasSubstr("standard input:2:"), HasSubstr("Ω"))));
  EXPECT_THAT(translate({"--require-phrases", greek}),
              EndsWithError(1, HasSubstr("standard input:2:")));
  const Outcome longer = run_filigree(
      {"translate", "-m", model(), "--target-prefix", folder_.write("two", "\n\n")}, "red\n");
  EXPECT_THAT(longer, EndsWithError(1, HasSubstr("two: has more lines than the input")));
}

TEST_F(Translate, AClosedPipeIsQuiet) {
  const Outcome outcome = run({"sh", "-c",
                               "{ yes 'red cat' | head -3000 | \"$0\" translate -m \"$1\"; echo "
                               "\"code $?\" >&2; } | head -1",
                               FILIGREE_PROGRAM, model()});
  EXPECT_EQ(outcome.err, "code 141\n");
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1);
}

TEST_F(Translate, AFullDiskIsOneLine) {
  EXPECT_THAT(run({"sh", "-c", "echo red | \"$0\" translate -m \"$1\" > /dev/full",
                   FILIGREE_PROGRAM, model()}),
              FailsWith(1, HasSubstr("standard output: cannot write: No space left on device")));
}

TEST_F(Translate, ADirectoryThatIsNoModelIsOneLine) {
  const auto translate = [](const std::string& directory) {
    return run_filigree({"translate", "--model", directory}, "red\n");
  };
  const std::string empty = folder_ / "empty";
  fs::create_directory(empty);
  EXPECT_THAT(translate(folder_ / "absent"), FailsWith(1, HasSubstr("absent")));
  EXPECT_THAT(translate(empty), FailsWith(1, HasSubstr("config.json")));
}

TEST_F(Translate, ADamagedModelIsOneLineThatNamesTheFile) {
  const auto info = [](const std::string& directory) { return run_filigree({"info", directory}); };
  const std::string weights = content_of(model() + "/model.safetensors");
  const std::string config = content_of(model() + "/config.json");
  const auto about = [](const std::string& file) {
    return FailsWith(1, testing::ContainsRegex("/copy[0-9]+/" + file));
  };
  for (const size_t kept :
       {size_t{0}, size_t{5}, size_t{100}, weights.size() / 2, weights.size() - 1}) {
    EXPECT_THAT(info(model_with("model.safetensors", weights.substr(0, kept))),
                about("model.safetensors"))
        << kept << " bytes";
  }
  std::string header = weights;
  header[10] = '!';
  EXPECT_THAT(info(model_with("model.safetensors", header)), about("model.safetensors"));
  EXPECT_THAT(info(model_with("model.safetensors", std::string(8, '\xff') + weights.substr(8))),
              about("model.safetensors"));

  auto json = nlohmann::json::parse(config);
  json["d_ff"] = 64;
  EXPECT_THAT(info(model_with("config.json", json.dump())), about("model.safetensors"));
  json["colour"] = "red";
  EXPECT_THAT(info(model_with("config.json", json.dump())),
              FailsWith(1, AllOf(HasSubstr("config.json"), HasSubstr("colour"))));
  EXPECT_THAT(info(model_with("config.json", "{")), about("config.json"));
  EXPECT_THAT(info(model_with("shared.spm", "not a model")), about("shared.spm"));
  EXPECT_THAT(info(model_with("generation_config.json", "[]")), about("generation_config.json"));
}

TEST_F(Translate, InfoDescribesTheModel) {
  const Outcome text = run_filigree({"info", model()});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("1 encoder, 1 decoder"), HasSubstr("adaptive, α 1 to 2"),
                              HasSubstr("head 2"), HasSubstr("cross")));
  const Outcome json = run_filigree({"info", model(), "--json"});
  const auto parsed = nlohmann::json::parse(json.out);
  EXPECT_EQ(parsed["config"]["d_model"], 64);
  const double alpha = parsed["alpha"]["encoder"][0][1];
  EXPECT_GT(alpha, 1);
  EXPECT_LT(alpha, 2);
}

}  // namespace
}  // namespace filigree::test
