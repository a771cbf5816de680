// Against scores and tokens that sacreBLEU 2.6.0 gave for segments written to be hard.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "filigree/base/files.h"
#include "filigree/evaluate/report.h"

namespace filigree::evaluate {
namespace {

const std::filesystem::path kFolder = FILIGREE_SHARED_DIR "/golden/bleu";

// A case's files, line by line as they are: chrF may count white space at the end of a segment.
struct Case {
  Segments hypotheses;
  References references;

  explicit Case(const nlohmann::json& golden) {
    const std::string name = golden["case"];
    hypotheses = read_lines(kFolder / "cases" / (name + ".hyp.txt"));
    for (int r = 0; r < golden["refs"]; ++r) {
      references.push_back(
          read_lines(kFolder / "cases" / (name + ".ref" + std::to_string(r) + ".txt")));
    }
  }
  Segments references_of(size_t segment) const {
    Segments all;
    for (const auto& set : references) all.push_back(set[segment]);
    return all;
  }
};

void expect_equal(double actual, double expected, const std::string& what) {
  EXPECT_NEAR(actual, expected, 1e-9 * std::abs(expected)) << what;
}

BleuOptions bleu_options(const nlohmann::json& golden) {
  BleuOptions options{.tokenizer = tokenizer_from_name(golden["tok"].get<std::string>()),
                      .lowercase = golden["lc"],
                      .smoothing = smoothing_from_name(golden["smooth"].get<std::string>()),
                      .max_order = golden.value("max_order", 4)};
  if (!golden["smooth_value"].is_null()) options.smooth_value = golden["smooth_value"];
  return options;
}

ChrfOptions chrf_options(const nlohmann::json& golden) {
  return {.char_order = golden["char_order"],
          .word_order = golden["word_order"],
          .beta = golden["beta"],
          .lowercase = golden["lc"],
          .whitespace = golden["whitespace"],
          .eps_smoothing = golden.value("eps_smoothing", false)};
}

// The signature up to the part that tells the implementation.
std::string settings_of(const std::string& signature) {
  return signature.substr(0, std::min(signature.find("|impl:"), signature.find("|version:")));
}

class EvaluateGolden : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kFolder / "golden.json")) {
      GTEST_SKIP() << kFolder << " is absent: scores are not compared with sacreBLEU's";
    }
    golden_ = nlohmann::json::parse(read_file(kFolder / "golden.json"));
  }
  nlohmann::json golden_;
};

TEST_F(EvaluateGolden, TokensAreEqual) {
  const auto lines = nlohmann::json::parse(read_file(kFolder / "tokenized.json"));
  ASSERT_FALSE(lines.empty());
  for (const auto& line : lines) {
    const std::string name = line["case"], file = line["file"];
    const auto segments = read_lines(kFolder / "cases" / (name + "." + file + ".txt"));
    const std::string& segment = segments.at(line["line"].get<size_t>());
    for (const std::string tokenizer : {"13a", "none", "intl", "char", "zh"}) {
      EXPECT_EQ(tokenize(segment, tokenizer_from_name(tokenizer)), line[tokenizer])
          << name << " " << file << " " << tokenizer;
    }
    EXPECT_EQ(tokenize(segment, Tokenizer::k13a, true), line["lc_13a"]) << name << " " << file;
  }
}

TEST_F(EvaluateGolden, BleuIsEqual) {
  for (const auto& golden_case : golden_["cases"]) {
    const Case data(golden_case);
    for (const auto& golden : golden_case["bleu"]) {
      const BleuOptions options = bleu_options(golden);
      const std::string what =
          golden_case["case"].get<std::string>() + " " + golden["signature"].get<std::string>();
      const BleuScore score = corpus_bleu(data.hypotheses, data.references, options);
      expect_equal(score.score, golden["score"], what);
      expect_equal(score.brevity_penalty, golden["bp"], what);
      EXPECT_EQ(score.counts, golden["counts"].get<std::vector<int64_t>>()) << what;
      EXPECT_EQ(score.totals, golden["totals"].get<std::vector<int64_t>>()) << what;
      EXPECT_EQ(score.system_length, golden["sys_len"]) << what;
      EXPECT_EQ(score.reference_length, golden["ref_len"]) << what;
      EXPECT_EQ(score.text(), golden["text"]) << what;
      ASSERT_EQ(score.precisions.size(), golden["precisions"].size()) << what;
      for (size_t n = 0; n < score.precisions.size(); ++n) {
        expect_equal(score.precisions[n], golden["precisions"][n], what);
      }
      // sacreBLEU's signature is silent about the order.
      if (options.max_order == 4) {
        EXPECT_EQ(settings_of(signature(Bleu(options), data.references.size())),
                  settings_of(golden["signature"]));
      }
    }
  }
}

TEST_F(EvaluateGolden, ChrfIsEqual) {
  for (const auto& golden_case : golden_["cases"]) {
    const Case data(golden_case);
    for (const auto& golden : golden_case["chrf"]) {
      const ChrfOptions options = chrf_options(golden);
      const std::string what =
          golden_case["case"].get<std::string>() + " " + golden["signature"].get<std::string>();
      expect_equal(corpus_chrf(data.hypotheses, data.references, options).score, golden["score"],
                   what);
      EXPECT_EQ(settings_of(signature(Chrf(options), data.references.size())),
                settings_of(golden["signature"]));
    }
  }
}

TEST_F(EvaluateGolden, SentenceScoresAreEqual) {
  for (const auto& golden_case : golden_["cases"]) {
    const Case data(golden_case);
    const auto& golden = golden_case["sentence"];
    for (size_t i = 0; i < golden.size(); ++i) {
      const std::string what =
          golden_case["case"].get<std::string>() + " segment " + std::to_string(i);
      const Segments references = data.references_of(i);
      expect_equal(sentence_bleu(data.hypotheses[i], references).score, golden[i][0], what);
      expect_equal(sentence_chrf(data.hypotheses[i], references).score, golden[i][1], what);
      expect_equal(sentence_chrf(data.hypotheses[i], references, kChrfPlusPlus).score, golden[i][2],
                   what);
    }
  }
}

TEST_F(EvaluateGolden, ConfidenceIntervalOfATestSetHoldsItsScore) {
  for (const auto& golden_case : golden_["cases"]) {
    if (golden_case["case"] != "multi30k_de") continue;
    const Case data(golden_case);
    const Report report =
        evaluate({{"perturbed", data.hypotheses}}, data.references, {.confidence = true});
    for (const auto& metric : report.systems[0].metrics) {
      EXPECT_LT(metric.confidence->lower, metric.score) << metric.name;
      EXPECT_GT(metric.confidence->upper, metric.score) << metric.name;
      EXPECT_LT(metric.confidence->half_width(), 3) << metric.name;
    }
    return;
  }
  FAIL() << "no case multi30k_de";
}

}  // namespace
}  // namespace filigree::evaluate
