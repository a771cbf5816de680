#include "filigree/translate/sampling.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <map>

#include "filigree/translate/search.h"
#include "tests/translate/score_table.h"

namespace filigree::translate {
namespace {

constexpr float kZero = -std::numeric_limits<float>::infinity();
using Tokens = std::vector<int>;

std::vector<float> scores_of(std::initializer_list<double> probabilities) {
  std::vector<float> scores;
  // Any common factor is allowed.
  for (const double p : probabilities) scores.push_back(static_cast<float>(std::log(p) + 3));
  return scores;
}

/// The share of each token, by evenly spread draws.
std::vector<double> shares(const std::vector<float>& scores, const TokenSampling& sampling) {
  constexpr int kDraws = 100000;
  std::vector<double> result(scores.size());
  for (int i = 0; i < kDraws; ++i) {
    result.at(sample_token(scores, sampling, (i + 0.5) / kDraws)) += 1.0 / kDraws;
  }
  return result;
}

void expect_shares(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-4) << i;
}

TEST(SampleToken, DrawsByProbabilityAndNeverAZero) {
  expect_shares(shares(scores_of({0.1, 0, 0.6, 0.3}), {}), {0.1, 0, 0.6, 0.3});
}

TEST(SampleToken, TemperatureRaisesProbabilitiesToItsInverse) {
  const double a = std::sqrt(0.1), b = std::sqrt(0.6), c = std::sqrt(0.3), sum = a + b + c;
  expect_shares(shares(scores_of({0.1, 0, 0.6, 0.3}), {.temperature = 2}),
                {a / sum, 0, b / sum, c / sum});
  expect_shares(shares(scores_of({0.1, 0, 0.6, 0.3}), {.temperature = 0.001}), {0, 0, 1, 0});
}

TEST(SampleToken, TopKKeepsTheMostProbable) {
  expect_shares(shares(scores_of({0.1, 0, 0.6, 0.3}), {.top_k = 2}), {0, 0, 2.0 / 3, 1.0 / 3});
  expect_shares(shares(scores_of({0.25, 0.25, 0.25, 0.25}), {.top_k = 2}), {0.5, 0.5, 0, 0});
  expect_shares(shares(scores_of({0.5, 0.5}), {.top_k = 9}), {0.5, 0.5});
}

TEST(SampleToken, TopPKeepsAsFewAsReachTheProbability) {
  const auto scores = scores_of({0.1, 0.05, 0.55, 0.3});
  expect_shares(shares(scores, {.top_p = 0.5}), {0, 0, 1, 0});
  expect_shares(shares(scores, {.top_p = 0.8}), {0, 0, 0.55 / 0.85, 0.3 / 0.85});
  expect_shares(shares(scores, {.top_p = 0.9}), {0.1 / 0.95, 0, 0.55 / 0.95, 0.3 / 0.95});
}

TEST(SampleToken, TopPCountsInWhatTopKAndTemperatureLeave) {
  // After temperature ½: 1, 4, 25, 0 of 30; the best two: 4, 25 of 29, of which 25 are 86 %.
  expect_shares(
      shares(scores_of({0.1, 0.2, 0.5, 0}), {.temperature = 0.5, .top_k = 2, .top_p = 0.86}),
      {0, 0, 1, 0});
}

TEST(SampleToken, WithoutAnyProbabilityThereIsNoToken) {
  EXPECT_EQ(sample_token(std::vector<float>{kZero, kZero}, {}, 0.5), -1);
}

TEST(SampleToken, TopPEqualsASortOfEverything) {
  Random random(4);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<float> scores(1 + random.below(200));
    for (float& score : scores) score = static_cast<float>(8 * random.uniform());
    const double p = random.uniform() * 0.99 + 0.005;
    std::vector<std::pair<double, int>> sorted;
    double total = 0, sum = 0;
    for (size_t i = 0; i < scores.size(); ++i) {
      sorted.emplace_back(-std::exp(double{scores[i]}), i);
      total += std::exp(double{scores[i]});
    }
    std::sort(sorted.begin(), sorted.end());
    std::vector<bool> kept(scores.size());
    for (size_t i = 0; i < sorted.size() && sum < p * total; ++i) {
      kept[sorted[i].second] = true;
      sum -= sorted[i].first;
    }
    for (int draw = 0; draw < 50; ++draw) {
      EXPECT_TRUE(kept[sample_token(scores, {.top_p = p}, random.uniform())]);
    }
  }
}

SearchOptions sampling_options(int samples, int max_length) {
  SearchOptions options;
  options.sampling = true;
  options.n_best = samples;
  options.max_length_factor = 0;
  options.max_length_offset = max_length;
  return options;
}

/// p of every output up to a length, where the end is certain.
void enumerate(const ScoreTable& table, const Tokens& prefix, double p, size_t max_length,
               std::map<Tokens, double>& all) {
  auto scores = table.log_probabilities_of(3, prefix);
  scores[ScoreTable::kStart] = kZero;
  double total = 0;
  for (const float score : scores) total += std::exp(score);
  if (prefix.size() == max_length) {
    all[prefix] += p;
    return;
  }
  for (int token = 1; token < static_cast<int>(scores.size()); ++token) {
    const double next = p * std::exp(scores[token]) / total;
    if (next == 0) continue;
    Tokens longer = prefix;
    if (token == ScoreTable::kEnd) {
      all[longer] += next;
    } else {
      longer.push_back(token);
      enumerate(table, longer, next, max_length, all);
    }
  }
}

TEST(Sampling, OutputsHaveTheModelsDistribution) {
  constexpr int kSamples = 20000;
  ScoreTable table({3}, 5, 0.2);
  // At the longest length the end must be possible.
  std::map<Tokens, double> expected;
  enumerate(table, {}, 1, 2, expected);
  std::map<Tokens, int> found;
  const auto samples = beam_search(table, {{1, {}, 9}}, sampling_options(kSamples, 2)).at(0);
  for (const Hypothesis& h : samples) {
    ++found[h.tokens];
  }
  // Pearson's χ² with about as many degrees of freedom as outputs: mean d, variance 2 d.
  double chi_square = 0;
  for (const auto& [tokens, p] : expected) {
    const double mean = p * kSamples;
    chi_square += (found[tokens] - mean) * (found[tokens] - mean) / mean;
  }
  EXPECT_EQ(found.size(), expected.size());
  const auto degrees = static_cast<double>(expected.size() - 1);
  EXPECT_LT(chi_square, degrees + 4 * std::sqrt(2 * degrees));
}

TEST(Sampling, DrawsDependOnSeedKeyAndSampleAlone) {
  const auto run = [](std::vector<uint64_t> sentences, std::vector<uint64_t> keys, uint64_t seed,
                      int samples) {
    ScoreTable table(std::move(sentences), 7, 0.2);
    std::vector<SentenceToSearch> what;
    for (const uint64_t key : keys) what.push_back({1, {}, key});
    SearchOptions options = sampling_options(samples, 8);
    options.seed = seed;
    std::vector<std::vector<Tokens>> outputs;
    for (const auto& of_sentence : beam_search(table, what, options)) {
      outputs.emplace_back();
      for (const Hypothesis& h : of_sentence) outputs.back().push_back(h.tokens);
    }
    return outputs;
  };
  const auto together = run({5, 6, 5}, {1, 2, 3}, 1, 4);
  EXPECT_EQ(run({6}, {2}, 1, 4).at(0), together[1]);
  const auto fewer = run({6}, {2}, 1, 2).at(0);
  EXPECT_EQ(fewer, std::vector<Tokens>(together[1].begin(), together[1].begin() + 2));
  EXPECT_NE(together[0], together[2]);  // another key
  EXPECT_NE(run({6}, {2}, 2, 4).at(0), together[1]);
}

TEST(Sampling, RulesHold) {
  ScoreTable table({3}, 6, 0.3);
  SearchOptions options = sampling_options(300, 5);
  options.min_length = 3;
  options.suppressed = {4};
  options.no_repeat_ngram_size = 1;
  PhraseGraph banned;
  banned.add_path(Tokens{2, 3});
  options.banned = std::make_shared<const PhraseGraph>(banned);
  const auto samples = beam_search(table, {{1, {{5}, {}, {}}, 9}}, options).at(0);
  ASSERT_EQ(samples.size(), 300u);
  for (const Hypothesis& h : samples) {
    EXPECT_EQ(h.tokens.at(0), 5);
    EXPECT_FALSE(banned.occurs_in(h.tokens));
    EXPECT_EQ(std::count(h.tokens.begin(), h.tokens.end(), 4), 0);
    EXPECT_TRUE(!h.complete || h.tokens.size() >= 3);
    for (const int token : h.tokens)
      EXPECT_EQ(std::count(h.tokens.begin(), h.tokens.end(), token), 1);
  }
}

TEST(Sampling, ARepetitionPenaltyRaisesWhatIsRepeatedToItsPower) {
  ScoreTable table({3}, 4);
  table.set({}, {0, 0, 1, 0});
  table.set({2}, {0, 0, 0.8f, 0.2f});
  for (const int last : {2, 3}) table.set({2, last}, {0, 1, 0, 0});
  SearchOptions options = sampling_options(20000, 2);
  options.repetition_penalty = 3;
  int repeated = 0;
  const auto samples = beam_search(table, {{1, {}, 9}}, options).at(0);
  for (const Hypothesis& h : samples) {
    const bool repeats = h.tokens.at(1) == 2;
    repeated += repeats;
    EXPECT_FLOAT_EQ(h.token_log_probabilities.at(1), std::log(repeats ? 0.8f : 0.2f));
  }
  EXPECT_NEAR(repeated / 20000.0, 0.512 / 0.712, 0.02);
}

TEST(Sampling, TokensOfProbabilityZeroThatAPrefixBringsInAreCounted) {
  ScoreTable table({3}, 4);
  table.set({}, {0, 0.5f, 0.5f, 0});
  const Hypothesis h =
      beam_search(table, {{1, {{3}, {}, {}}, 9}}, sampling_options(1, 3)).at(0).at(0);
  EXPECT_EQ(h.tokens.at(0), 3);
  EXPECT_EQ(h.impossible, 1);
  EXPECT_EQ(h.log_probability, kZero);
}

}  // namespace
}  // namespace filigree::translate
