// filigree inspect as a program: its files agree with each other, and bad input is one line.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/process.h"
#include "tests/cli/toy_corpus.h"

namespace filigree::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class Inspect : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    toy_ = new ToyFolder;
    const Outcome training = run_filigree(toy_->train_command(*toy_ / "model"));
    ASSERT_EQ(training.exit_code, 0) << training.err;
  }
  static void TearDownTestSuite() { delete toy_; }

  static std::string file(const std::string& name) { return *toy_ / name; }
  static Outcome inspect(std::vector<std::string> more) {
    more.insert(more.begin(), {"inspect", "--model", file("model")});
    return run_filigree(more);
  }
  static ToyFolder* toy_;
};
ToyFolder* Inspect::toy_ = nullptr;

TEST_F(Inspect, StatisticsAreThoseOfTheWeightsThatItWrites) {
  const Outcome outcome = inspect({file("test.src"), file("test.trg"), "--json", file("n.json"),
                                   "--attention", file("a.jsonl")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("of the encoder's attention weights are above zero"));
  const json numbers = json::parse(content_of(file("n.json")));
  std::istringstream lines(content_of(file("a.jsonl")));
  int64_t sentences = 0;
  std::map<std::string, double> nonzero, pairs;
  for (std::string line; std::getline(lines, line); ++sentences) {
    const json sentence = json::parse(line);
    for (const char* block : {"encoder", "cross", "decoder"}) {
      const json& head = sentence[block][0][0];
      const size_t keys = sentence[block == std::string("decoder") ? "target" : "source"].size();
      for (size_t q = 0; q < head.size(); ++q) {
        double sum = 0;
        for (size_t i = 1; i < head[q].size(); i += 2) sum += head[q][i].get<double>();
        EXPECT_NEAR(sum, 1, 1e-4);
        nonzero[block] += static_cast<double>(head[q].size()) / 2;
        pairs[block] += static_cast<double>(block == std::string("decoder") ? q + 1 : keys);
      }
    }
  }
  const json& model = numbers["models"][0];
  EXPECT_EQ(model["sentences"], sentences);
  for (const auto& [block, count] : nonzero) {
    EXPECT_NEAR(
        model["blocks"][block]["layers"][0]["heads"][0]["measures"]["density"].get<double>(),
        count / pairs[block], 1e-5)
        << block;
  }
}

TEST_F(Inspect, TranslatesWhenThereIsNoTarget) {
  const Outcome translation =
      run_filigree({"translate", "--model", file("model"), "--input", file("test.src")});
  toy_->write("out.trg", translation.out);
  const Outcome own = inspect({file("test.src"), "--json", "-"});
  const Outcome given = inspect({file("test.src"), file("out.trg"), "--json", "-"});
  ASSERT_EQ(own.exit_code, 0) << own.err;
  json a = json::parse(own.out), b = json::parse(given.out);
  EXPECT_EQ(a["models"][0]["blocks"]["encoder"], b["models"][0]["blocks"]["encoder"]);
  EXPECT_EQ(a["models"][0]["target_tokens"], b["models"][0]["target_tokens"]);
}

TEST_F(Inspect, ThreadsChangeNothing) {
  const Outcome one =
      inspect({file("test.src"), file("test.trg"), "--json", "-", "--threads", "1"});
  const Outcome two =
      inspect({file("test.src"), file("test.trg"), "--json", "-", "--threads", "2"});
  EXPECT_EQ(one.out, two.out);
}

TEST_F(Inspect, AModelComparedWithItselfDoesNotDiffer) {
  const Outcome outcome = inspect({file("test.src"), file("test.trg"), "--compare", file("model"),
                                   "--json", "-", "--report", file("r.html")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json numbers = json::parse(outcome.out);
  ASSERT_EQ(numbers["models"].size(), 2u);
  EXPECT_NE(numbers["models"][0]["name"], numbers["models"][1]["name"]);
  for (const json& block : numbers["comparisons"][0]["blocks"]) {
    for (const json& quantity : block) {
      EXPECT_EQ(quantity, (json{{"value", 0}, {"low", 0}, {"high", 0}}));
    }
  }
  const std::string report = content_of(file("r.html"));
  EXPECT_THAT(report, HasSubstr("<!doctype html>"));
  EXPECT_THAT(report, Not(HasSubstr("{{numbers}}")));
}

// The numbers inside a report.
json numbers_of(const std::string& report) {
  const std::string begin = "id=\"numbers\">";
  const size_t at = report.find(begin) + begin.size();
  return json::parse(report.substr(at, report.find("</script>", at) - at));
}

TEST_F(Inspect, TranslateReportsTheSentencesThatItTranslated) {
  toy_->write("some.src", fmt::format("\n{}", content_of(file("test.src"))));
  const Outcome translation =
      run_filigree({"translate", "--model", file("model"), "--input", file("some.src"), "--report",
                    file("new/r.html"), "--report-sentences", "7"});
  ASSERT_EQ(translation.exit_code, 0) << translation.err;
  // Its translations, given to inspect, are the same numbers.
  const auto first_lines = [](const std::string& text, int count) {
    size_t end = 0;
    while (count-- > 0) end = text.find('\n', end) + 1;
    return text.substr(0, end);
  };
  toy_->write("seven.src", first_lines(content_of(file("some.src")), 8));
  toy_->write("seven.trg", first_lines(translation.out, 8));
  const Outcome given = inspect({file("seven.src"), file("seven.trg"), "--json", "-"});
  const json expected = json::parse(given.out),
             numbers = numbers_of(content_of(file("new/r.html")));
  EXPECT_EQ(numbers["source"], "some.src");
  EXPECT_EQ(numbers["models"][0]["sentences"], 7);
  EXPECT_EQ(numbers["models"][0]["blocks"]["encoder"], expected["models"][0]["blocks"]["encoder"]);
  EXPECT_EQ(numbers["models"][0]["coverage"], expected["models"][0]["coverage"]);
}

TEST_F(Inspect, AReportOfNothingIsAnErrorAndNoFile) {
  const Outcome nothing =
      run_filigree({"translate", "--model", file("model"), "--report", file("no.html")}, "\n\n");
  EXPECT_EQ(nothing.exit_code, 1);
  EXPECT_EQ(nothing.out, "\n\n");
  EXPECT_THAT(nothing.err, HasSubstr("standard input: no report: every line is empty"));
  EXPECT_FALSE(std::filesystem::exists(file("no.html")));
  // A place that cannot be written is told before anything is translated.
  const Outcome place = run_filigree(
      {"translate", "--model", file("model"), "--report", file("test.src") + "/r.html"}, "x\n");
  EXPECT_EQ(place.exit_code, 1);
  EXPECT_EQ(place.out, "");
  EXPECT_THAT(place.err, HasSubstr("test.src"));
}

TEST_F(Inspect, ReadsParsesAndAlignments) {
  // Every word depends on the one before it and is translated by the word at its place.
  std::string parses, links, line;
  for (std::istringstream text(content_of(file("test.src"))); std::getline(text, line);) {
    std::istringstream words(line);
    int number = 0;
    for (std::string word; words >> word; ++number) {
      parses += fmt::format("{}\t{}\t_\t_\t_\t_\t{}\t{}\t_\t_\n", number + 1, word, number,
                            number == 0 ? "root" : "dep");
      links += fmt::format("{0}-{0} ", number);
    }
    parses += '\n';
    links += '\n';
  }
  toy_->write("test.conllu", parses);
  toy_->write("test.links", links);
  const Outcome outcome =
      inspect({file("test.src"), file("test.trg"), "--conllu", file("test.conllu"), "--alignments",
               file("test.links"), "--json", "-"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json numbers = json::parse(outcome.out);
  EXPECT_EQ(numbers["relations"][0]["label"], "dep");
  EXPECT_EQ(numbers["relations"][0]["offset"], -1);
  EXPECT_EQ(numbers["relations"][0]["baseline"], 1);
  const json& blocks = numbers["models"][0]["blocks"];
  EXPECT_EQ(numbers["models"][0]["unmatched_parses"], 0);
  EXPECT_LE(blocks["encoder"]["layers"][0]["heads"][0]["syntax"]["dep"]["to_head"], 1);
  EXPECT_LT(blocks["cross"]["layers"][0]["heads"][0]["alignment_error_rate"]["output"], 1);
}

TEST_F(Inspect, BadInputIsOneLineThatSaysWhere) {
  toy_->write("short.trg", "one\n");
  toy_->write("links.txt", "0-0\n0:0\n");
  toy_->write("far.txt", "0-99\n");
  toy_->write("one.src", "one\n");
  toy_->write("two.src", "one\ntwo\n");
  toy_->write("two.trg", "one\ntwo\n");
  toy_->write("bad.conllu", "1\tone\n\n");
  toy_->write("empty.src", "\n\n");
  const struct {
    std::vector<std::string> arguments;
    int exit_code;
    std::string message;
  } cases[] = {
      {{file("test.src"), file("short.trg")}, 1, "short.trg has fewer lines than"},
      {{file("one.src"), file("two.trg")}, 1, "two.trg has more lines than"},
      {{file("two.src"), file("two.trg"), "--alignments", file("links.txt")},
       1,
       "links.txt:2: '0:0'"},
      {{file("one.src"), file("short.trg"), "--alignments", file("far.txt")},
       1,
       "far.txt:1: link 0-99"},
      {{file("one.src"), "--alignments", file("far.txt")}, 2, "give TGT too"},
      {{file("one.src"), "--conllu", file("bad.conllu")}, 1, "bad.conllu:1: "},
      {{file("empty.src")}, 1, "no line to inspect"},
      {{file("none.src")}, 1, "none.src"},
      {{}, 2, "source"},
  };
  for (const auto& c : cases) {
    const Outcome outcome = inspect(c.arguments);
    EXPECT_EQ(outcome.exit_code, c.exit_code) << c.message;
    EXPECT_THAT(outcome.err, HasSubstr(c.message));
    EXPECT_THAT(outcome.err, HasSubstr("error: "));
  }
}

}  // namespace
}  // namespace filigree::test
