#include "filigree/translate/scorer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "filigree/base/error.h"
#include "filigree/base/files.h"
#include "filigree/translate/alignment.h"
#include "filigree/translate/output_format.h"
#include "filigree/translate/translator.h"
#include "filigree/translate/word_scores.h"
#include "tests/translate/test_model.h"

namespace filigree::translate {
namespace {

using Lines = std::vector<std::string>;

/// What the search and what teacher forcing say about the same model.
class ScorerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = std::filesystem::path(testing::TempDir()) / "filigree_scorer_test_model";
    write_model(directory_);
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(directory_); }

  static Lines some_lines() {
    return {"quick fox",         "",         "the lazy dog jumps over my box",
            " pack  five dozen", "The End!", "jugs. jugs. jugs."};
  }

  static TranslatorOptions with_attention() {
    TranslatorOptions options;
    options.attention = true;
    options.search = SearchOptions{};
    options.search->n_best = 3;
    return options;
  }

  static std::filesystem::path directory_;
};
std::filesystem::path ScorerTest::directory_;

TEST_F(ScorerTest, DescribesAPairAsTheTranslatorDoes) {
  const Lines lines = some_lines();
  const auto translations = Translator(directory_, with_attention()).translate(lines);
  std::vector<text::SentencePair> pairs;
  for (size_t i = 0; i < lines.size(); ++i) pairs.push_back({lines[i], translations[i].text()});
  ScorerOptions options;
  options.attention = true;
  options.length_penalty = 1;
  const auto scored = Scorer(directory_, options).score(pairs);
  ASSERT_EQ(scored.size(), lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(scored[i].source.text, lines[i]);
    EXPECT_EQ(scored[i].source.pieces, translations[i].source.pieces);
    EXPECT_EQ(scored[i].source.places, translations[i].source.places);
    const Output& output = scored[i].n_best.at(0);
    EXPECT_EQ(output.text, translations[i].text());
    ASSERT_EQ(output.token_log_probabilities.size(), output.pieces.size() + 1);
    EXPECT_EQ(output.attention.size(), output.pieces.size() + 1);
    EXPECT_EQ(output.places.size(), output.pieces.size());
    double sum = 0;
    for (const float value : output.token_log_probabilities) sum += value;
    EXPECT_NEAR(output.log_probability, sum, 1e-6);
    EXPECT_NEAR(output.score, sum / static_cast<double>(output.pieces.size() + 1), 1e-6);
  }
}

TEST_F(ScorerTest, AlignmentsDoNotDependOnBatchesAndThreads) {
  Lines lines;
  for (int i = 0; i < 5; ++i) {
    for (const std::string& line : some_lines()) lines.push_back(line);
  }
  const auto all_text = [&](int mini_batch, int threads) {
    TranslatorOptions options = with_attention();
    options.batches.mini_batch = mini_batch;
    options.batches.threads = threads;
    std::string text;
    for (const Translation& translation : Translator(directory_, options).translate(lines)) {
      text += format_translation(0, translation, {.alignment = AlignmentUnit::kPiece});
      text += format_translation(0, translation, {.alignment = AlignmentUnit::kWord});
    }
    return text;
  };
  const std::string expected = all_text(1, 1);
  EXPECT_EQ(all_text(4, 2), expected);
  EXPECT_EQ(all_text(64, 1), expected);
}

TEST_F(ScorerTest, ASplitLineIsAlignedAsAWhole) {
  const Lines sentences = {"the quick brown fox.", "The lazy dog jumps."};
  const text::Tokenizer tokenizer = small_tokenizer();
  TranslatorOptions options = with_attention();
  options.max_source_length = static_cast<int>(
      std::max(tokenizer.encode(sentences[0]).size(), tokenizer.encode(sentences[1]).size()));
  const Translator translator(directory_, options);
  const auto parts = translator.translate(sentences);
  const Lines lines = {"  " + sentences[0] + "  " + sentences[1]};
  const Translation whole = translator.translate(lines).at(0);
  EXPECT_EQ(whole.source.text, lines[0]);

  evaluate::Links expected = word_links(parts[0].source, parts[0].n_best[0]);
  const auto words = text::words_of(parts[0].text()).size();
  for (const evaluate::Link& link : word_links(parts[1].source, parts[1].n_best[0])) {
    expected.push_back({link.source + 4, link.target + static_cast<int>(words)});
  }
  EXPECT_EQ(word_links(whole.source, whole.n_best[0]), expected);
  EXPECT_THAT(expected, testing::Not(testing::IsEmpty()));
  // Every piece lies where its part of the text is.
  const Output& output = whole.n_best[0];
  EXPECT_EQ(output.text.substr(0, 2), "  ");
  std::string joined;
  for (const text::Range& place : output.places) {
    joined += output.text.substr(place.begin, place.end - place.begin);
  }
  std::string text = output.text;
  std::erase(text, ' ');
  std::erase(joined, ' ');
  EXPECT_EQ(joined, text);
}

TEST_F(ScorerTest, HeadsOfTheConfigAreUsed) {
  const Lines lines = {"the quick brown fox"};
  TranslatorOptions options;
  options.alignment = true;
  const auto links = [&] {
    return Translator(directory_, options).translate(lines).at(0).n_best[0].piece_links;
  };
  const evaluate::Links before = links();
  const auto file = directory_ / "generation_config.json";
  write_file(file, R"({"alignment_heads": [[1, 2]], "alignment_shift": true})");
  EXPECT_EQ(load_generation_config(directory_).alignment_heads[0][1], 2);
  EXPECT_NE(links(), before);
  write_file(file, R"({"alignment_heads": [[1, 3]]})");
  EXPECT_THROW(links(), Error);
  write_file(file, R"({"alignment_heads": [1]})");
  EXPECT_THROW(links(), Error);
  std::filesystem::remove(file);
}

TEST_F(ScorerTest, WithoutAlignmentNothingIsKept) {
  const Lines lines = {"quick fox"};
  const Translation translation = Translator(directory_).translate(lines).at(0);
  EXPECT_THAT(translation.source.pieces, testing::IsEmpty());
  EXPECT_THAT(translation.n_best[0].attention, testing::IsEmpty());
  EXPECT_THAT(translation.n_best[0].piece_links, testing::IsEmpty());
  const std::vector<double> scores = word_scores(translation.n_best[0]);
  double sum = 0;
  for (const double score : scores) sum += score;
  EXPECT_NEAR(sum, translation.n_best[0].log_probability, 1e-6);
}

}  // namespace
}  // namespace filigree::translate
