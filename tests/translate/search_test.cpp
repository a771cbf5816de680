#include "filigree/translate/search.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "filigree/base/error.h"
#include "filigree/translate/candidates.h"
#include "tests/translate/score_table.h"

namespace filigree::translate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Tokens = std::vector<int>;
constexpr int kEnd = ScoreTable::kEnd;

SearchOptions options(int beam_size, int max_length, double length_penalty = 1.0) {
  SearchOptions options;
  options.beam_size = beam_size;
  options.length_penalty = length_penalty;
  options.max_length_factor = 0;
  options.max_length_offset = max_length;
  return options;
}

std::vector<Hypothesis> search(ScoreTable& table, const SearchOptions& options) {
  return beam_search(table, {{1, {}, 0}}, options).at(0);
}

/// Every complete output, best first.
void enumerate(const ScoreTable& table, uint64_t sentence, int min_length, int max_length,
               double length_penalty, Hypothesis prefix, std::vector<Hypothesis>& all) {
  const std::vector<float> scores = table.log_probabilities_of(sentence, prefix.tokens);
  const int length = static_cast<int>(prefix.tokens.size());
  for (int token = 0; token < static_cast<int>(scores.size()); ++token) {
    if (token == ScoreTable::kStart || std::isinf(scores[token])) continue;
    Hypothesis next = prefix;
    next.log_probability += scores[token];
    if (token == kEnd) {
      if (length < min_length) continue;
      next.score = next.log_probability / std::pow(length + 1.0, length_penalty);
      all.push_back(next);
    } else if (length < max_length) {
      next.tokens.push_back(token);
      enumerate(table, sentence, min_length, max_length, length_penalty, next, all);
    }
  }
}

std::vector<Hypothesis> best_of_all(const ScoreTable& table, uint64_t sentence, int min_length,
                                    int max_length, double length_penalty) {
  std::vector<Hypothesis> all;
  enumerate(table, sentence, min_length, max_length, length_penalty, {}, all);
  std::stable_sort(all.begin(), all.end(),
                   [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  return all;
}

TEST(BeamSearch, LargeBeamEqualsExhaustiveSearch) {
  for (const double zeros : {0.0, 0.4}) {
    for (const double length_penalty : {0.0, 0.6, 1.0, 2.0, -0.5}) {
      for (uint64_t sentence = 0; sentence < 20; ++sentence) {
        for (const int min_length : {0, 2}) {
          ScoreTable table({sentence}, 5, zeros);
          const auto expected = best_of_all(table, sentence, min_length, 4, length_penalty);
          SearchOptions exhaustive = options(1000, 4, length_penalty);
          exhaustive.n_best = 7;
          exhaustive.min_length = min_length;
          const auto found = search(table, exhaustive);
          if (expected.empty()) {
            EXPECT_FALSE(found.at(0).complete);
            continue;
          }
          ASSERT_EQ(found.size(), std::min<size_t>(7, expected.size()));
          for (size_t i = 0; i < found.size(); ++i) {
            EXPECT_EQ(found[i].tokens, expected[i].tokens);
            EXPECT_DOUBLE_EQ(found[i].score, expected[i].score);
            EXPECT_TRUE(found[i].complete);
          }
        }
      }
    }
  }
}

TEST(BeamSearch, BeamOfOneIsGreedy) {
  for (uint64_t sentence = 0; sentence < 50; ++sentence) {
    ScoreTable table({sentence}, 6);
    Tokens greedy;
    while (greedy.size() < 8) {
      std::vector<float> scores = table.log_probabilities_of(sentence, greedy);
      scores[ScoreTable::kStart] = -std::numeric_limits<float>::infinity();
      const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
      if (best == kEnd) break;
      greedy.push_back(static_cast<int>(best));
    }
    EXPECT_THAT(search(table, options(1, 8)),
                ElementsAre(testing::Field(&Hypothesis::tokens, greedy)));
  }
}

TEST(BeamSearch, BeamFindsWhatGreedyMisses) {
  ScoreTable table({0}, 4);
  table.set({}, {0, 0, 0.6f, 0.4f});
  table.set({2}, {0, 0.3f, 0.4f, 0.3f});
  table.set({3}, {0, 1, 0, 0});
  EXPECT_EQ(search(table, options(1, 1)).at(0).tokens, Tokens({2}));
  EXPECT_EQ(search(table, options(2, 1)).at(0).tokens, Tokens({3}));
}

TEST(BeamSearch, ScoreDividesTheSumByLengthWithTheEndToken) {
  ScoreTable table({0}, 3);
  table.set({}, {0, 0.25f, 0.75f});
  table.set({2}, {0, 0.5f, 0.5f});
  const Hypothesis best = search(table, options(1, 1, 2.0)).at(0);
  EXPECT_EQ(best.tokens, Tokens({2}));
  EXPECT_THAT(best.token_log_probabilities,
              ElementsAre(testing::FloatEq(std::log(0.75f)), testing::FloatEq(std::log(0.5f))));
  EXPECT_NEAR(best.log_probability, std::log(0.75 * 0.5), 1e-6);
  EXPECT_NEAR(best.score, std::log(0.75 * 0.5) / 4, 1e-6);
}

TEST(BeamSearch, OtherSentencesNeverChangeAResult) {
  std::vector<uint64_t> sentences;
  std::vector<SentenceToSearch> lengths;
  for (int i = 0; i < 30; ++i) {
    sentences.push_back(i * 7 % 30);
    lengths.push_back({static_cast<int>(1 + sentences.back() % 5), {}, 0});
  }
  SearchOptions wide = options(4, 3);
  wide.max_length_factor = 1.5;
  wide.n_best = 3;
  ScoreTable together(sentences, 9, 0.2);
  const auto batch = beam_search(together, lengths, wide);
  for (size_t i = 0; i < sentences.size(); ++i) {
    ScoreTable alone({sentences[i]}, 9, 0.2);
    const auto single = beam_search(alone, {lengths[i]}, wide).at(0);
    ASSERT_EQ(single.size(), batch[i].size());
    for (size_t j = 0; j < single.size(); ++j) {
      EXPECT_EQ(single[j].tokens, batch[i][j].tokens);
      EXPECT_EQ(single[j].score, batch[i][j].score);
    }
  }
}

TEST(BeamSearch, EarlyStoppingSavesStepsAndChangesNothing) {
  int stopped_early = 0;
  for (uint64_t sentence = 0; sentence < 200; ++sentence) {
    ScoreTable one({sentence}, 6), all({sentence}, 6);
    SearchOptions first = options(5, 12), every = first;
    every.n_best = 5;  // Needs the whole beam, so it cannot stop before the beam is empty.
    EXPECT_EQ(search(one, first).at(0).tokens, search(all, every).at(0).tokens);
    stopped_early += one.steps() < all.steps();
  }
  EXPECT_GT(stopped_early, 20);
}

TEST(BeamSearch, FinishedHypothesesShrinkTheBeam) {
  ScoreTable table({0}, 4);
  table.set({}, {0, 0.4f, 0.3f, 0.3f});  // one of three ends: two rows in the second step
  SearchOptions three = options(3, 1);
  three.n_best = 3;
  search(table, three);
  EXPECT_EQ(table.rows(), 1 + 2);
}

TEST(BeamSearch, TiesGoToTheLowerToken) {
  ScoreTable table({0}, 5);
  table.set({}, {0, 0, 0.25f, 0.25f, 0.5f});
  for (const int token : {2, 3, 4}) table.set({token}, {0, 1, 0, 0, 0});
  SearchOptions three = options(3, 1);
  three.n_best = 3;
  std::vector<Tokens> found;
  for (const Hypothesis& hypothesis : search(table, three)) found.push_back(hypothesis.tokens);
  EXPECT_THAT(found, ElementsAre(Tokens({4}), Tokens({2}), Tokens({3})));
}

TEST(BeamSearch, ForcedEndOfProbabilityZeroGivesAnIncompleteHypothesis) {
  ScoreTable table({0}, 3);
  for (const Tokens& prefix : {Tokens{}, Tokens{2}, Tokens{2, 2}}) table.set(prefix, {0, 0, 1});
  const auto found = search(table, options(3, 2));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].tokens, Tokens({2, 2}));
  EXPECT_FALSE(found[0].complete);
  EXPECT_EQ(found[0].score, 0);
}

TEST(BeamSearch, NoProbabilityAnywhereGivesAnEmptyIncompleteHypothesis) {
  ScoreTable table({0}, 3);
  table.set({}, {0, 0, 0});
  const auto found = search(table, options(2, 5));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].tokens, IsEmpty());
  EXPECT_FALSE(found[0].complete);
}

TEST(BeamSearch, LengthLimitsHold) {
  for (uint64_t sentence = 0; sentence < 50; ++sentence) {
    ScoreTable table({sentence}, 6);
    SearchOptions limited = options(3, 5);
    limited.min_length = 4;
    limited.n_best = 3;
    for (const Hypothesis& hypothesis : search(table, limited)) {
      EXPECT_GE(hypothesis.tokens.size(), 4u);
      EXPECT_LE(hypothesis.tokens.size(), 5u);
    }
  }
  EXPECT_EQ(SearchOptions{}.max_length(7), 24);
}

TEST(BeamSearch, NotANumberIsAnError) {
  ScoreTable table({0}, 3);
  table.set({}, {0, 0.5f, std::numeric_limits<float>::quiet_NaN()});
  EXPECT_THROW(search(table, options(2, 5)), Error);
}

TEST(BeamSearch, SentencesThatComeLaterFindWhatTheyWouldFindAlone) {
  std::vector<uint64_t> keys(12);
  std::iota(keys.begin(), keys.end(), 1);
  const SearchOptions three = options(3, 6);
  std::vector<std::vector<Hypothesis>> found(keys.size());
  ScoreTable table(keys, 5);
  BeamSearch search(table, three);
  for (int next = 0; next < static_cast<int>(keys.size()) || !search.empty();) {
    // Room for three sentences.
    while (next < static_cast<int>(keys.size()) && search.reserved_rows() + 3 <= 9) {
      search.add(next++, {1, {}, 0});
    }
    EXPECT_LE(search.reserved_rows(), 9);
    for (auto& [sentence, n_best] : search.step()) found[sentence] = std::move(n_best);
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    ScoreTable alone({keys[i]}, 5);
    const std::vector<Hypothesis> expected = translate::search(alone, three);
    ASSERT_EQ(found[i].size(), expected.size());
    for (size_t n = 0; n < expected.size(); ++n) {
      EXPECT_EQ(found[i][n].tokens, expected[n].tokens);
      EXPECT_EQ(found[i][n].score, expected[n].score);
    }
  }
  EXPECT_THAT(table.released(), testing::UnorderedElementsAreArray([] {
                std::vector<int> all(12);
                std::iota(all.begin(), all.end(), 0);
                return all;
              }()));
}

TEST(BeamSearch, NoSentencesGiveNoResults) {
  ScoreTable table({}, 3);
  EXPECT_THAT(beam_search(table, {}, options(2, 5)), IsEmpty());
}

TEST(SearchOptions, NamesTheOptionThatIsWrong) {
  SearchOptions wrong;
  wrong.n_best = 6;
  EXPECT_THAT([&] { wrong.check(); },
              testing::ThrowsMessage<UsageError>(testing::HasSubstr("n-best 6")));
  wrong = {};
  wrong.beam_size = 0;
  EXPECT_THROW(wrong.check(), UsageError);
  wrong = {};
  wrong.max_length_factor = std::numeric_limits<double>::infinity();
  EXPECT_THROW(wrong.check(), UsageError);
}

TEST(TopCandidates, EqualsASortOfEverything) {
  Random random(3);
  for (int trial = 0; trial < 50; ++trial) {
    const int size = 1 + static_cast<int>(random.below(300)), capacity = 1 + random.below(12);
    TopCandidates top(capacity);
    std::vector<Candidate> all;
    for (int row = 0; row < 4; ++row) {
      const double base = -2 * random.uniform();
      std::vector<float> values(size);
      // Few distinct values, so that there are ties; some are −inf.
      for (float& value : values) {
        value =
            random.below(10) ? -0.25f * random.below(20) : -std::numeric_limits<float>::infinity();
      }
      StepScores scores;
      scores.resize(1, size);
      ScoreTable::set_row(scores, 0, values);
      top.offer_row(row, base, scores, 0);
      for (int token = 0; token < size; ++token) {
        if (!std::isinf(values[token])) all.push_back({base + values[token], row, token});
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
      return a.log_probability > b.log_probability;
    });
    all.resize(std::min<size_t>(all.size(), capacity));
    const std::vector<Candidate> kept = top.take();
    ASSERT_EQ(kept.size(), all.size());
    for (size_t i = 0; i < kept.size(); ++i) {
      EXPECT_EQ(kept[i].log_probability, all[i].log_probability);
      EXPECT_EQ(kept[i].row, all[i].row);
      EXPECT_EQ(kept[i].token, all[i].token);
    }
  }
}

}  // namespace
}  // namespace filigree::translate
