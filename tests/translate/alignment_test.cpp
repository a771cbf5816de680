#include "filigree/translate/alignment.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "filigree/base/error.h"
#include "filigree/translate/joined_translation.h"
#include "filigree/translate/json.h"
#include "filigree/translate/output_format.h"
#include "filigree/translate/word_scores.h"

namespace filigree::translate {
namespace {

using evaluate::Link;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

AttentionRows rows(const std::vector<AttentionRow>& list) {
  AttentionRows shared;
  for (const AttentionRow& row : list) shared.push_back(std::make_shared<AttentionRow>(row));
  return shared;
}

/// Two source pieces and </s>, two output pieces and the end, two heads.
AttentionRows some_rows() {
  return rows({{{0, 0, 0.4f}, {0, 1, 0.6f}, {1, 1, 1.f}},
               {{0, 2, 0.9f}, {0, 0, 0.1f}, {1, 1, 0.2f}, {1, 2, 0.8f}},
               {{0, 1, 1.f}, {1, 0, 1.f}}});
}

TEST(SparseRow, KeepsWhatIsAboveZeroOfTheHeadsAskedFor) {
  const std::vector<float> weights = {0.5f, 0.5f, 1, 0, 0, 1};  // three heads, two positions
  const AttentionRow row = sparse_row(weights, 2, std::vector<int>{0, 2});
  ASSERT_EQ(row.size(), 3u);
  EXPECT_EQ(row[1].source, 1);
  EXPECT_EQ(row[2].head, 2);
  EXPECT_EQ(row[2].source, 1);
}

TEST(PieceLinks, AreTheSupportOfSparseHeads) {
  EXPECT_THAT(piece_links(some_rows(), 2, 2, {.heads = {0}}),
              ElementsAre(Link{0, 0}, Link{0, 1}, Link{1, 0}));
  EXPECT_THAT(piece_links(some_rows(), 2, 2, {.heads = {1}}), ElementsAre(Link{1, 0}, Link{1, 1}));
}

TEST(PieceLinks, OfSeveralSparseHeadsAreWhatAllOrEnoughOfThemSee) {
  EXPECT_THAT(piece_links(some_rows(), 2, 2, {.heads = {0, 1}}), ElementsAre(Link{1, 0}));
  EXPECT_THAT(piece_links(some_rows(), 2, 2, {.heads = {0, 1}, .votes = 1}),
              ElementsAre(Link{0, 0}, Link{0, 1}, Link{1, 0}, Link{1, 1}));
}

TEST(PieceLinks, ByArgmaxAreWhereTheMeanIsLargest) {
  EXPECT_THAT(piece_links(some_rows(), 2, 2, {.heads = {0}, .argmax = true}),
              ElementsAre(Link{0, 1}, Link{1, 0}));
  EXPECT_THAT(piece_links(some_rows(), 2, 2, {.heads = {0, 1}, .argmax = true}),
              ElementsAre(Link{1, 0}, Link{1, 1}));
}

TEST(PieceLinks, ShiftedComeFromTheStepAfter) {
  EXPECT_THAT(piece_links(some_rows(), 2, 2, {.heads = {0}, .shift = true}),
              ElementsAre(Link{0, 0}, Link{1, 1}));
  // An output that was cut off has no step after its last piece.
  AttentionRows cut_off = some_rows();
  cut_off.pop_back();
  EXPECT_THAT(piece_links(cut_off, 2, 2, {.heads = {0}, .shift = true}), ElementsAre(Link{0, 0}));
}

TEST(PieceLinks, OfAnEmptySentenceAreNone) {
  EXPECT_THAT(piece_links(rows({{{0, 0, 1.f}}}), 0, 0, {.heads = {0}}), IsEmpty());
  EXPECT_THAT(
      piece_links(rows({{{0, 0, 1.f}}, {{0, 0, 1.f}}}), 0, 1, {.heads = {0}, .argmax = true}),
      IsEmpty());
}

TEST(WordLinks, LinkWordsOfWhichAnyPiecesAre) {
  const std::vector<text::Range> source = {{0, 1}, {0, 1}, {1, 2}, {2, 2}};
  const std::vector<text::Range> target = {{0, 1}, {1, 3}};
  EXPECT_THAT(word_links({{0, 0}, {1, 0}, {2, 1}, {3, 1}}, source, target),
              ElementsAre(Link{0, 0}, Link{1, 1}, Link{1, 2}));
}

model::ModelConfig config_of(const char* transform) {
  model::ModelConfig config;
  config.decoder_layers = 3;
  config.heads = 2;
  config.cross_attention.transform = model::parse_transform(transform, "");
  return config;
}

TEST(AlignmentRule, ComesFromTheConfig) {
  GenerationConfig generation;
  EXPECT_THAT(alignment_rule(config_of("adaptive"), generation).heads,
              ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_TRUE(alignment_rule(config_of("adaptive"), generation).argmax);
  generation.alignment_heads = {{2, 1}, {0, 0}, {2, 1}};
  generation.alignment_shift = true;
  const AlignmentRule rule = alignment_rule(config_of("softmax"), generation);
  EXPECT_THAT(rule.heads, ElementsAre(0, 5));
  EXPECT_TRUE(rule.shift);
  EXPECT_TRUE(rule.argmax);
  EXPECT_FALSE(alignment_rule(config_of("entmax15"), generation).argmax);
  generation.alignment_votes = 2;
  EXPECT_EQ(alignment_rule(config_of("entmax15"), generation).votes, 2);
  generation.alignment_votes = 3;
  EXPECT_THAT([&] { alignment_rule(config_of("entmax15"), generation); },
              ThrowsMessage<Error>(HasSubstr("alignment_votes: 3 of 2 heads")));
  generation.alignment_heads = {{3, 0}};
  EXPECT_THAT([&] { alignment_rule(config_of("softmax"), generation); },
              ThrowsMessage<Error>(HasSubstr("alignment_heads: [3, 0] is outside the model")));
}

/// "Ein Hund" for "A dog", its pieces "▁Ein", "▁H" and "und".
Translation a_dog() {
  Translation translation;
  translation.source = {"A dog", {"▁A", "▁dog"}, {{0, 1}, {1, 5}}};
  Output output;
  output.text = "Ein Hünd";
  output.pieces = {"▁Ein", "▁H", "ünd"};
  output.places = {{0, 3}, {3, 5}, {5, 9}};
  output.token_log_probabilities = {-0.5f, -0.25f, -1.f, -0.125f};
  output.log_probability = -1.875;
  output.score = -0.46875;
  output.piece_links = {{0, 0}, {1, 1}, {1, 2}};
  output.attention = rows({{{0, 0, 1.f}}, {{3, 1, 0.75f}, {3, 2, 0.25f}}, {{0, 1, 1.f}}, {}});
  translation.n_best = {output};
  return translation;
}

TEST(WordScores, AreSumsOverPiecesAndTheEnd) {
  EXPECT_THAT(word_scores(a_dog().n_best[0]), ElementsAre(-0.5, -1.25, -0.125));
  Output empty;
  empty.token_log_probabilities = {-2.f};
  EXPECT_THAT(word_scores(empty), ElementsAre(-2));
}

TEST(OutputFormat, IsThatOfMarianForTheBestAndOfMosesForLists) {
  const Translation dog = a_dog();
  EXPECT_EQ(format_translation(3, dog, {}), "Ein Hünd\n");
  OutputFormat format{.alignment = AlignmentUnit::kWord, .word_scores = true};
  EXPECT_EQ(format_translation(3, dog, format),
            "Ein Hünd ||| 0-0 1-1 ||| WordScores= -0.500000 -1.250000 -0.125000\n");
  format.n_best = true;
  EXPECT_EQ(format_translation(3, dog, format),
            "3 ||| Ein Hünd ||| F0= -1.875000 WordScores= -0.500000 -1.250000 -0.125000 ||| "
            "-0.468750 ||| 0-0 1-1\n");
  EXPECT_EQ(format_translation(3, dog, {.n_best = true}),
            "3 ||| Ein Hünd ||| F0= -1.875000 ||| -0.468750\n");
  EXPECT_EQ(format_translation(0, dog, {.alignment = AlignmentUnit::kPiece}),
            "Ein Hünd ||| 0-0 1-1 1-2\n");
}

TEST(Json, HoldsEverything) {
  const auto json = nlohmann::json::parse(to_json(a_dog(), {.heads = 2}));
  EXPECT_EQ(json, nlohmann::json::parse(R"({
    "source": "A dog",
    "source_pieces": ["▁A", "▁dog"],
    "source_piece_spans": [[0, 1], [2, 5]],
    "source_word_spans": [[0, 1], [2, 5]],
    "translation": "Ein Hünd",
    "score": -0.46875,
    "log_probability": -1.875,
    "pieces": ["▁Ein", "▁H", "ünd"],
    "piece_spans": [[0, 3], [4, 5], [5, 8]],
    "token_log_probabilities": [-0.5, -0.25, -1.0, -0.125],
    "word_spans": [[0, 3], [4, 8]],
    "word_scores": [-0.5, -1.25, -0.125],
    "alignment": [[0, 0], [1, 1]],
    "piece_alignment": [[0, 0], [1, 1], [1, 2]],
    "attention": [[0, 0, 0, 0, 1.0], [1, 1, 1, 1, 0.75], [1, 1, 1, 2, 0.25], [0, 0, 2, 1, 1.0]]
  })"));
}

TEST(Json, IsOneLineWithShortNumbersAndNullForTheLogarithmOfZero) {
  Translation translation;
  Output output;
  output.text = "a\"\tb";
  output.token_log_probabilities = {-0.1f, -std::numeric_limits<float>::infinity()};
  output.log_probability = output.score = -std::numeric_limits<double>::infinity();
  translation.n_best = {output, output};
  const std::string line = to_json(translation, {.n_best = true});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_THAT(line, HasSubstr("[-0.1,null]"));
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["n_best"].size(), 2u);
  EXPECT_TRUE(json["n_best"][1]["score"].is_null());
  EXPECT_EQ(json["n_best"][1]["translation"], "a\"\tb");
}

TEST(JoinedTranslation, HasThePlacesOfTheWholeLine) {
  const std::string line = " A dog  A dog";
  const Translation joined = join_translations({a_dog(), a_dog()}, line, 0);
  const Source& source = joined.source;
  EXPECT_EQ(source.text, line);
  EXPECT_THAT(source.pieces, ElementsAre("▁A", "▁dog", "▁A", "▁dog"));
  EXPECT_EQ(source.places[0], (text::Range{1, 2}));
  EXPECT_EQ(source.places[2], (text::Range{8, 9}));
  const Output& output = joined.n_best.at(0);
  EXPECT_EQ(output.text, "Ein Hünd Ein Hünd");
  EXPECT_EQ(output.places[3], (text::Range{10, 13}));
  EXPECT_THAT(word_links(source, output),
              ElementsAre(Link{0, 0}, Link{1, 1}, Link{2, 2}, Link{3, 3}));
  EXPECT_THAT(output.piece_links,
              ElementsAre(Link{0, 0}, Link{1, 1}, Link{1, 2}, Link{2, 3}, Link{3, 4}, Link{3, 5}));
  // The ends of both parts follow all pieces.
  EXPECT_THAT(output.token_log_probabilities,
              ElementsAre(-0.5f, -0.25f, -1.f, -0.5f, -0.25f, -1.f, -0.125f, -0.125f));
  EXPECT_THAT(word_scores(output), ElementsAre(-0.5, -1.25, -0.5, -1.25, -0.25));
  ASSERT_EQ(output.attention.size(), 8u);
  const AttentionRow& second_h = *output.attention[4];
  EXPECT_EQ(second_h[0].source, 3);
  EXPECT_EQ(second_h[1].source, 4);  // </s> of the part is that of the line
  EXPECT_DOUBLE_EQ(output.log_probability, -3.75);
  EXPECT_DOUBLE_EQ(output.score, -3.75);
}

}  // namespace
}  // namespace filigree::translate
