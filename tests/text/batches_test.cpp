#include "filigree/text/batches.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "filigree/base/random.h"
#include "tests/text/matchers.h"

namespace filigree::text {
namespace {

// Pairs of random lengths 1 … longest.
ParallelCorpus random_corpus(int pairs, int longest) {
  ParallelCorpus corpus;
  Random random(7);
  const std::vector<int32_t> ids(static_cast<size_t>(longest), 5);
  for (int i = 0; i < pairs; ++i) {
    const std::span<const int32_t> all(ids);
    corpus.add(all.first(1 + random.below(longest)), all.first(1 + random.below(longest)));
  }
  return corpus;
}

ParallelCorpus corpus_of(const std::vector<std::pair<int, int>>& lengths) {
  ParallelCorpus corpus;
  for (const auto& [source, target] : lengths) {
    corpus.add(std::vector<int32_t>(source, 5), std::vector<int32_t>(target, 5));
  }
  return corpus;
}

std::vector<std::vector<int32_t>> lists(const Batches& batches) {
  std::vector<std::vector<int32_t>> lists;
  for (int64_t i = 0; i < batches.size(); ++i) {
    lists.emplace_back(batches[i].begin(), batches[i].end());
  }
  return lists;
}

std::vector<std::vector<int32_t>> batch_lists(const ParallelCorpus& corpus,
                                              const BatchOptions& options, int64_t epoch) {
  return lists(make_batches(corpus, options, epoch));
}

Batches weighted_batches(const ParallelCorpus& corpus, double weight, int64_t epoch) {
  const CorpusPart all{.begin = 0, .end = corpus.size(), .weight = weight};
  return make_batches(corpus.lengths(), {&all, 1}, {}, epoch);
}

std::map<int32_t, int> counts(const Batches& batches) {
  std::map<int32_t, int> counts;
  for (const auto& batch : lists(batches)) {
    for (const int32_t pair : batch) ++counts[pair];
  }
  return counts;
}

TEST(Batches, EveryPairOccursOnce) {
  const ParallelCorpus corpus = random_corpus(5000, 60);
  const auto occurrences = counts(make_batches(corpus, {.batch_tokens = 300}, 0));
  EXPECT_EQ(occurrences.size(), 5000u);
  for (const auto& [pair, count] : occurrences) EXPECT_EQ(count, 1) << pair;
}

TEST(Batches, NoBatchIsAboveTheLimitAndMostAreNearlyFull) {
  const ParallelCorpus corpus = random_corpus(5000, 60);
  const auto batches = batch_lists(corpus, {.batch_tokens = 300}, 0);
  int nearly_full = 0;
  for (const auto& batch : batches) {
    int64_t tokens = 0;
    for (const int32_t pair : batch) tokens += corpus.target_length(pair) + 1;
    EXPECT_LE(tokens, 300);
    nearly_full += tokens > 300 - 61;
  }
  EXPECT_GE(nearly_full, static_cast<int>(batches.size()) * 9 / 10);
}

TEST(Batches, TheLimitCountsOneEndOfSentencePerPair) {
  const ParallelCorpus corpus = corpus_of({{1, 4}, {1, 4}, {1, 4}, {1, 4}});
  EXPECT_EQ(make_batches(corpus, {.batch_tokens = 10}, 0).size(), 2);
  EXPECT_EQ(make_batches(corpus, {.batch_tokens = 9}, 0).size(), 4);
}

TEST(Batches, APairAboveTheLimitIsAlone) {
  const ParallelCorpus corpus = corpus_of({{3, 3}, {3, 50}, {3, 50}, {200, 3}, {3, 3}});
  auto batches = batch_lists(corpus, {.batch_tokens = 20}, 0);
  std::sort(batches.begin(), batches.end(), [](auto& a, auto& b) { return a.size() < b.size(); });
  ASSERT_EQ(batches.size(), 4u);
  EXPECT_EQ(batches[2].size(), 1u);
  EXPECT_THAT(batches[3], testing::UnorderedElementsAre(0, 4));
}

TEST(Batches, SourceTokensAreAtMostFourTimesTheLimit) {
  const ParallelCorpus corpus = corpus_of({{39, 1}, {39, 1}, {39, 1}, {39, 1}, {39, 1}});
  const auto batches = batch_lists(corpus, {.batch_tokens = 20}, 0);
  for (const auto& batch : batches) EXPECT_LE(batch.size(), 2u);
  EXPECT_EQ(batches.size(), 3u);
}

TEST(Batches, PairsOfABatchHaveSimilarTargetLengths) {
  const ParallelCorpus corpus = random_corpus(20'000, 60);
  int mixed = 0;
  const auto batches = batch_lists(corpus, {.batch_tokens = 1000}, 0);
  for (const auto& batch : batches) {
    int64_t shortest = 1000, longest = 0;
    for (const int32_t pair : batch) {
      shortest = std::min(shortest, corpus.target_length(pair));
      longest = std::max(longest, corpus.target_length(pair));
    }
    mixed += longest > shortest + 1 + shortest / 8;
  }
  // Only batches at the border between two groups of lengths may be mixed.
  EXPECT_LT(mixed, static_cast<int>(batches.size()) / 10);
}

TEST(Batches, AreAPureFunctionOfSeedAndEpoch) {
  const ParallelCorpus corpus = random_corpus(1000, 30);
  const auto batches = batch_lists(corpus, {.batch_tokens = 200, .seed = 3}, 5);
  EXPECT_EQ(batches, batch_lists(corpus, {.batch_tokens = 200, .seed = 3}, 5));
  EXPECT_NE(batches, batch_lists(corpus, {.batch_tokens = 200, .seed = 3}, 6));
  EXPECT_NE(batches, batch_lists(corpus, {.batch_tokens = 200, .seed = 4}, 5));
}

TEST(Batches, EpochsPutDifferentPairsTogether) {
  const ParallelCorpus corpus = random_corpus(20'000, 30);
  const auto batch_sets = [&](int64_t epoch) {
    std::set<std::vector<int32_t>> sets;
    for (auto batch : batch_lists(corpus, {.batch_tokens = 500}, epoch)) {
      std::sort(batch.begin(), batch.end());
      sets.insert(batch);
    }
    return sets;
  };
  const auto first = batch_sets(0), second = batch_sets(1);
  int common = 0;
  for (const auto& batch : first) common += second.contains(batch);
  EXPECT_EQ(common, 0);
}

TEST(Batches, TheOrderOfBatchesIsNotTheOrderOfLengths) {
  const ParallelCorpus corpus = random_corpus(5000, 60);
  int rises = 0;
  const auto batches = batch_lists(corpus, {.batch_tokens = 300}, 0);
  for (size_t i = 1; i < batches.size(); ++i) {
    rises += corpus.target_length(batches[i][0]) > corpus.target_length(batches[i - 1][0]);
  }
  EXPECT_NEAR(rises, batches.size() / 2.0, batches.size() / 10.0);
}

TEST(Batches, AWeightIsTheAverageNumberOfOccurrences) {
  const ParallelCorpus corpus = random_corpus(10'000, 20);
  const auto occurrences = counts(weighted_batches(corpus, 2.25, 0));
  EXPECT_EQ(occurrences.size(), 10'000u);
  int thrice = 0;
  for (const auto& [pair, count] : occurrences) {
    EXPECT_TRUE(count == 2 || count == 3);
    thrice += count == 3;
  }
  EXPECT_NEAR(thrice, 2500, 150);
}

TEST(Batches, AWeightBelowOneDrawsAnotherSampleEveryEpoch) {
  const ParallelCorpus corpus = random_corpus(10'000, 20);
  const auto first = counts(weighted_batches(corpus, 0.5, 0)),
             second = counts(weighted_batches(corpus, 0.5, 1));
  int both = 0;
  for (const auto& [pair, count] : first) both += second.contains(pair);
  EXPECT_NEAR(static_cast<double>(first.size()), 5000, 200);
  EXPECT_NEAR(both, 2500, 200);
}

TEST(Batches, AWeightDoesNotChangeWhatOtherCorporaDraw) {
  const ParallelCorpus corpus = random_corpus(2000, 20);
  const auto drawn_of_the_second = [&](double weight_of_the_first) {
    const CorpusPart parts[] = {{0, 1000, weight_of_the_first}, {1000, 2000, 0.5}};
    std::set<int32_t> drawn;
    for (const auto& [pair, count] : counts(make_batches(corpus.lengths(), parts, {}, 3))) {
      if (pair >= 1000) drawn.insert(pair);
    }
    return drawn;
  };
  EXPECT_EQ(drawn_of_the_second(1), drawn_of_the_second(2.5));
}

// The definition in the plainest words: shuffle, sort by the leading bits of the lengths, cut,
// shuffle.
TEST(Batches, FollowTheirDefinition) {
  const ParallelCorpus corpus = random_corpus(3000, 300);
  const BatchOptions options{.batch_tokens = 700, .seed = 11};
  const uint64_t key = combine(options.seed, 4);
  Random random(key);
  std::vector<int32_t> pairs;
  for (int32_t i = 0; i < 3000; ++i) pairs.push_back(i);
  random.shuffle(pairs);
  const auto rounded = [](int64_t length) {
    int64_t unit = 1;
    while (length / unit >= 16) unit *= 2;
    return length / unit * unit;
  };
  std::stable_sort(pairs.begin(), pairs.end(), [&](int32_t a, int32_t b) {
    return std::pair(rounded(corpus.target_length(a)), rounded(corpus.source_length(a))) <
           std::pair(rounded(corpus.target_length(b)), rounded(corpus.source_length(b)));
  });
  std::vector<std::vector<int32_t>> expected(1);
  const auto tokens = [&](auto length) {
    int64_t sum = 0;
    for (const int32_t pair : expected.back()) sum += (corpus.*length)(pair) + 1;
    return sum;
  };
  for (const int32_t pair : pairs) {
    expected.back().push_back(pair);
    if (tokens(&ParallelCorpus::target_length) <= 700 &&
        tokens(&ParallelCorpus::source_length) <= 2800) {
      continue;
    }
    expected.back().pop_back();
    expected.push_back({pair});
  }
  random.shuffle(expected);
  EXPECT_EQ(batch_lists(corpus, options, 4), expected);
}

TEST(Batches, ABatchWithoutTokensIsAUsageError) {
  EXPECT_THROWS(make_batches(random_corpus(2, 2), {.batch_tokens = 0}, 0), UsageError,
                "a batch must hold at least 1 token, got 0");
}

}  // namespace
}  // namespace filigree::text
