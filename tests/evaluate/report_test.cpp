#include "filigree/evaluate/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "filigree/base/error.h"
#include "filigree/base/files.h"
#include "filigree/evaluate/accuracy.h"

namespace filigree::evaluate {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const References kReferences = {{"the cat is on the mat", "a dog barks at the moon"}};
const System kGood = {"good.txt", {"the cat is on the mat", "a dog barks at a moon"}};
const System kBad = {"bad.txt", {"cat on mat", "the dog barks"}};

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// A file that lives as long as this object.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view content)
      : path_(
            std::filesystem::temp_directory_path() /
            ("filigree_report_test_" + std::to_string(getpid()) + "_" + std::to_string(++count_))) {
    write_file(path_, content);
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  static inline int count_ = 0;
  std::filesystem::path path_;
};

TEST(Report, OneSystemIsALinePerMetricAlignedAtTheEqualsSign) {
  const std::string text = to_text(evaluate({kGood}, kReferences));
  const std::string version =
      text.substr(text.find("version:"), text.find(" =") - text.find("version:"));
  EXPECT_EQ(text, "  BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|impl:filigree|" + version +
                      " = 77.82 91.7/80.0/75.0/66.7 (BP = 1.000 ratio = 1.000 hyp_len = 12 "
                      "ref_len = 12)\n"
                      "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|impl:filigree|" +
                      version + " = 81.88\n");
}

TEST(Report, JsonHasTheKeysOfSacreBleu) {
  const json report = json::parse(to_json(evaluate({kGood}, kReferences)));
  ASSERT_EQ(report.size(), 2u);
  EXPECT_EQ(report[0]["name"], "BLEU");
  EXPECT_EQ(report[0]["score"], 77.82);
  EXPECT_THAT(report[0]["signature"].get<std::string>(), StartsWith("nrefs:1|case:mixed|"));
  EXPECT_THAT(report[0]["verbose_score"].get<std::string>(), StartsWith("91.7/80.0/75.0/66.7 (BP"));
  EXPECT_EQ(report[0]["nrefs"], "1");
  EXPECT_EQ(report[0]["case"], "mixed");
  EXPECT_EQ(report[0]["eff"], "no");
  EXPECT_EQ(report[0]["tok"], "13a");
  EXPECT_EQ(report[0]["smooth"], "exp");
  EXPECT_EQ(report[0]["impl"], "filigree");
  EXPECT_FALSE(report[0].contains("confidence"));
  EXPECT_EQ(report[1]["name"], "chrF2");
  EXPECT_EQ(report[1]["nc"], "6");
  EXPECT_FALSE(report[1].contains("verbose_score"));
}

TEST(Report, ConfidenceIsAddedWhenAskedFor) {
  const Report report = evaluate({kGood}, kReferences,
                                 {.confidence = true, .resampling = {.samples = 100, .seed = 7}});
  const json parsed = json::parse(to_json(report));
  EXPECT_EQ(parsed[0]["bs"], "100");
  EXPECT_EQ(parsed[0]["seed"], "7");
  EXPECT_GT(parsed[0]["confidence_mean"], 50);
  EXPECT_GT(parsed[0]["confidence_var"], 0);
  const std::string confidence = parsed[0]["confidence"];
  EXPECT_THAT(confidence, testing::MatchesRegex("μ = [0-9.]+ ± [0-9.]+"));
  EXPECT_THAT(to_text(report), HasSubstr(" = 77.82 (" + confidence + ") 91.7/"));
}

TEST(Report, SeveralSystemsAreComparedWithTheFirst) {
  const Report report = evaluate({kBad, kGood, kBad}, kReferences);
  EXPECT_FALSE(report.systems[0].metrics[0].p_value);
  EXPECT_LT(report.systems[1].metrics[0].p_value, 0.9);
  EXPECT_EQ(report.systems[2].metrics[0].p_value, 1);
  EXPECT_TRUE(report.systems[0].metrics[1].confidence);

  const json parsed = json::parse(to_json(report));
  ASSERT_EQ(parsed.size(), 3u);
  EXPECT_EQ(parsed[0]["system"], "bad.txt");
  EXPECT_TRUE(parsed[0]["BLEU"]["p_value"].is_null());
  EXPECT_EQ(parsed[1]["system"], "good.txt");
  EXPECT_NEAR(parsed[1]["chrF2"]["score"], 81.88, 0.005);
  EXPECT_GT(parsed[1]["chrF2"]["mean"], 0);
  EXPECT_TRUE(parsed[1]["chrF2"]["ci"].is_number());
  EXPECT_THAT(parsed[1]["chrF2"]["signature"].get<std::string>(), HasSubstr("bs:1000|seed:12345"));

  const std::string text = to_text(report);
  EXPECT_THAT(text, StartsWith("System"));
  EXPECT_THAT(text, HasSubstr("\nBaseline: bad.txt  "));
  EXPECT_THAT(text, HasSubstr("\ngood.txt           77.82 (μ = "));
  EXPECT_THAT(text, HasSubstr(") p = 1.0000\n"));
  EXPECT_THAT(text, HasSubstr("\nchrF2|nrefs:1|bs:1000|"));
}

TEST(Report, SignificantDifferencesAreMarked) {
  Report report = evaluate({kBad, kGood}, kReferences);
  report.systems[1].metrics[0].p_value = 0.01;
  report.systems[1].metrics[1].p_value = 0.06;
  EXPECT_THAT(to_text(report), HasSubstr(" p = 0.0100*"));
  EXPECT_THAT(to_text(report), HasSubstr(" p = 0.0600\n"));
}

TEST(Report, ScoresAloneArePrintedWithTheWidthAskedFor) {
  const ReportFormat format{.width = 1, .score_only = true};
  EXPECT_EQ(to_text(evaluate({kGood}, kReferences), format), "77.8\n81.9\n");
  EXPECT_THAT(to_text(evaluate({kBad, kGood}, kReferences, {.metrics = {"bleu"}}), format),
              testing::MatchesRegex("[0-9.]+ [^\n]+\n77.8 [^\n]+\n"));
}

TEST(Report, SentencesHaveALineEach) {
  const SentenceReport report = evaluate_sentences({"x", {"a b", ""}}, {{"a b", "c"}},
                                                   {.metrics = {"bleu", "chrf", "chrf++"}});
  EXPECT_THAT(report.names, ElementsAre("BLEU", "chrF2", "chrF2++"));
  EXPECT_EQ(to_text(report, {.width = 1}), "100.0\t100.0\t100.0\n0.0\t0.0\t0.0\n");
  const std::string lines = to_json(report);
  EXPECT_EQ(lines.substr(0, lines.find('\n')), R"({"BLEU":100.0,"chrF2":100.0,"chrF2++":100.0})");
}

TEST(Report, ManyTokenizedFullStopsGiveAWarning) {
  const Segments segments(100, "a b c d .");
  EXPECT_THAT(evaluate({{"out.txt", segments}}, {segments}).warnings,
              ElementsAre("out.txt: 100 or more segments end in ' .'; BLEU expects text that is "
                          "not tokenized"));
  EXPECT_TRUE(
      evaluate({{"out.txt", segments}}, {segments}, {.metrics = {"chrf"}}).warnings.empty());
  EXPECT_TRUE(
      evaluate({{"out.txt", segments}}, {segments}, {.bleu = {.tokenizer = Tokenizer::kNone}})
          .warnings.empty());
}

TEST(Report, AskingForNothingOrTwiceIsAUsageError) {
  EXPECT_EQ(message_of([] { evaluate({kGood}, kReferences, {.metrics = {"ter"}}); }),
            "unknown metric 'ter': use bleu, chrf, chrf++ or aer");
  EXPECT_THROW(evaluate({kGood}, kReferences, {.metrics = {}}), UsageError);
  EXPECT_THROW(evaluate({kGood}, kReferences, {.metrics = {"bleu", "bleu"}}), UsageError);
  EXPECT_THROW(evaluate({}, kReferences), UsageError);
}

TEST(Report, SizesThatDoNotPairNameTheSystem) {
  EXPECT_EQ(message_of([] {
              evaluate({kGood, {"cut.txt", {"a"}}}, kReferences);
            }),
            "cut.txt: 1 hypotheses but 2 references in set 1; they must pair up line by line");
  EXPECT_EQ(message_of([] { evaluate({kGood}, {}); }),
            "good.txt: no references to compare the hypotheses with");
}

TEST(ReadSegments, DropsWhiteSpaceAtTheEndOfLines) {
  const TemporaryFile file("one \u3000\r\n\n  two\u2028three\n");
  EXPECT_THAT(read_segments(file.path()), ElementsAre("one", "", "  two\u2028three"));
  EXPECT_EQ(read_system(file.path()).name, file.path().string());
}

TEST(ReadSegments, TextThatIsNotUtf8NamesTheLine) {
  const TemporaryFile file(
      "gut\nGr\xf6\xdf"
      "e\n");
  EXPECT_EQ(message_of([&] { read_segments(file.path()); }),
            file.path().string() + ": line 2: not valid UTF-8; convert the file first");
}

TEST(ReadReferences, SetsOfDifferentSizesNameBothFiles) {
  const TemporaryFile two("a\nb\n"), one("a\n");
  EXPECT_EQ(message_of([&] {
              read_references({two.path(), one.path()});
            }),
            one.path().string() + ": 1 lines, but " + two.path().string() +
                " has 2; references must pair up line by line");
  EXPECT_EQ(read_references({two.path(), two.path()}).size(), 2u);
}

TEST(ExactMatch, IsTheShareOfEqualSegments) {
  EXPECT_EQ(exact_match_accuracy({"a", "b", "c ", "d"}, {"a", "x", "c", "d"}), 0.5);
  EXPECT_THROW(exact_match_accuracy({"a"}, {"a", "b"}), Error);
  EXPECT_THROW(exact_match_accuracy({}, {}), Error);
}

}  // namespace
}  // namespace filigree::evaluate
