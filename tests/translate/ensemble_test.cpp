#include "filigree/translate/ensemble.h"

#include <gmock/gmock.h>

#include <cmath>
#include <memory>

#include "filigree/base/error.h"
#include "filigree/translate/search.h"
#include "tests/translate/score_table.h"

namespace filigree::translate {
namespace {

constexpr int kVocabulary = 9;

/// Tables for the same sentence that say different things; the n-th is that of sentence n alone.
std::unique_ptr<ScoreTable> table(uint64_t n, double zeros = 0.4) {
  return std::make_unique<ScoreTable>(std::vector<uint64_t>{n}, kVocabulary, zeros);
}

Ensemble ensemble(std::vector<std::unique_ptr<ScoreTable>> tables) {
  std::vector<std::unique_ptr<StepFunction>> members;
  for (auto& member : tables) members.push_back(std::move(member));
  return Ensemble(std::move(members));
}

std::vector<std::unique_ptr<ScoreTable>> three_tables() {
  std::vector<std::unique_ptr<ScoreTable>> tables;
  for (uint64_t n = 0; n < 3; ++n) tables.push_back(table(n));
  return tables;
}

TEST(Ensemble, AveragesProbabilitiesAlsoZeros) {
  Ensemble three = ensemble(three_tables());
  const SearchRow first[] = {{0, -1, ScoreTable::kStart}};
  const SearchRow second[] = {{0, 0, 2}, {0, 0, 5}};
  StepScores scores;
  int zeros = 0;
  const auto expect_mean = [&](int row, const std::vector<int>& prefix) {
    for (int token = 0; token < kVocabulary; ++token) {
      double mean = 0;
      for (uint64_t n = 0; n < 3; ++n) {
        mean += std::exp(table(n)->log_probabilities_of(n, prefix)[token]) / 3;
      }
      EXPECT_NEAR(std::exp(scores.log_probability(row, token)), mean, 1e-6);
      EXPECT_EQ(std::isinf(scores.log_probability(row, token)), mean == 0);
      zeros += mean == 0;
    }
  };
  three.step(first, scores);
  expect_mean(0, {});
  three.step(second, scores);
  expect_mean(0, {2});
  expect_mean(1, {5});
  EXPECT_GT(zeros, 0);
}

TEST(Ensemble, KeepsProbabilitiesThatFloatCannotHold) {
  auto a = table(0), b = table(1);
  for (ScoreTable* member : {a.get(), b.get()}) {
    member->set_logarithms({}, std::vector<float>(kVocabulary, -300.0f));
  }
  std::vector<std::unique_ptr<ScoreTable>> tables;
  tables.push_back(std::move(a));
  tables.push_back(std::move(b));
  Ensemble both = ensemble(std::move(tables));
  StepScores scores;
  const SearchRow first[] = {{0, -1, ScoreTable::kStart}};
  both.step(first, scores);
  EXPECT_NEAR(scores.log_probability(0, 3), -300, 1e-4);
}

TEST(Ensemble, NotANumberInOneIsAnError) {
  auto tables = three_tables();
  tables[1]->set({}, std::vector<float>(kVocabulary, std::nanf("")));
  Ensemble three = ensemble(std::move(tables));
  EXPECT_THROW(beam_search(three, {{1, {}, 0}}, {}), Error);
}

TEST(Ensemble, AveragesTheAttentionOfTheLastLayers) {
  auto tables = three_tables();
  for (auto& member : tables) member->give_attention({4});
  Ensemble three = ensemble(std::move(tables));
  StepScores scores;
  const SearchRow first[] = {{0, -1, ScoreTable::kStart}};
  three.step(first, scores);
  std::vector<float> found(4), expected(4);
  scores.add_mean_attention(0, found);
  for (uint64_t n = 0; n < 3; ++n) {
    const auto weights = ScoreTable::attention_of(n, {}, 4);
    for (int s = 0; s < 4; ++s) expected[s] += (weights[10 + s] + weights[15 + s]) / 6;
  }
  for (int s = 0; s < 4; ++s) EXPECT_NEAR(found[s], expected[s], 1e-6);
}

}  // namespace
}  // namespace filigree::translate
