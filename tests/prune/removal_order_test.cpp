#include "filigree/prune/removal_order.h"

#include <gmock/gmock.h>

#include <cmath>

namespace filigree::prune {
namespace {

using inspect::Measure;
using model::AttentionBlock;
using testing::ElementsAre;

constexpr auto kEncoder = AttentionBlock::kEncoder, kCross = AttentionBlock::kCross,
               kDecoder = AttentionBlock::kDecoder;

model::ModelConfig one_layer(int64_t heads) {
  model::ModelConfig config;
  config.encoder_layers = config.decoder_layers = 1;
  config.heads = heads;
  return config;
}

// Statistics of one layer a block, where relative entropies and divergences can be set.
class Numbers {
 public:
  explicit Numbers(size_t heads) : heads_(heads) {
    for (auto& block : statistics.blocks) {
      block.layers.resize(1);
      block.layers[0].heads.resize(heads);
      block.layers[0].diversity = inspect::Diversity(heads);
      for (auto& pair : block.layers[0].diversity.pairs) pair = {0.9, 1};
    }
  }
  void set_entropy(AttentionBlock block, size_t head, double value) {
    layer(block).heads[head][Measure::kRelativeEntropy] = {value, 1};
  }
  void set_divergence(AttentionBlock block, size_t a, size_t b, double value) {
    auto& pairs = layer(block).diversity.pairs;
    pairs[a * heads_ + b] = pairs[b * heads_ + a] = {value, 1};
  }
  inspect::Statistics statistics;

 private:
  inspect::LayerStatistics& layer(AttentionBlock block) {
    return statistics.blocks[static_cast<size_t>(block)].layers[0];
  }
  size_t heads_;
};

std::vector<HeadPlace> order_of(RemovalOrder order) {
  std::vector<HeadPlace> heads;
  HeadSet removed;
  while (const auto next = order.next(removed)) {
    heads.push_back(*next);
    removed.insert(*next);
  }
  return heads;
}

TEST(RemovalOrder, ByLossIsTheOrderOfTryingEveryHeadEveryTime) {
  const model::ModelConfig config = one_layer(3);
  const Numbers numbers(3);
  // What a head is worth grows with the heads that are gone, as it does where they help each other
  // out; different heads by different amounts, so that the order is not that of the first round.
  const auto worth = [](const HeadPlace& place) {
    return 1 +
           std::fmod(7.3 * static_cast<double>(3 * static_cast<int>(place.block) + place.head), 5);
  };
  int calls = 0;
  const auto loss = [&](const HeadSet& removed) {
    ++calls;
    double sum = 0, gone = 0;
    for (const HeadPlace& place : removed) {
      gone += worth(place);
      sum += 0.1 * worth(place);
    }
    return sum + 0.01 * gone * gone;
  };
  std::vector<HeadPlace> brute;
  HeadSet removed;
  for (int step = 0; step < 6; ++step) {
    std::optional<HeadPlace> best;
    double least = 0;
    for (const auto block : model::kAttentionBlocks) {
      for (int64_t head = 0; head < 3; ++head) {
        const HeadPlace place{block, 0, head};
        const auto gone = std::count_if(removed.begin(), removed.end(),
                                        [&](const HeadPlace& p) { return p.block == block; });
        if (removed.contains(place) || gone == 2) continue;
        HeadSet more = removed;
        more.insert(place);
        const double value = loss(more);
        if (!best || value < least) {
          best = place;
          least = value;
        }
      }
    }
    brute.push_back(*best);
    removed.insert(*best);
  }
  const int brute_calls = calls;
  calls = 0;
  EXPECT_EQ(order_of(RemovalOrder(Criterion::kLoss, config, numbers.statistics, {}, loss)), brute);
  EXPECT_LT(calls, brute_calls);
}

TEST(RemovalOrder, BySimilarityTakesOneOfTheClosestPairThatIsLeft) {
  const model::ModelConfig config = one_layer(3);
  Numbers numbers(3);
  numbers.set_divergence(kDecoder, 0, 2, 0.1);
  numbers.set_divergence(kDecoder, 0, 1, 0.3);
  numbers.set_divergence(kCross, 0, 1, 0.2);
  // Of a pair the head that looks more widely.
  numbers.set_entropy(kDecoder, 2, 0.8);
  numbers.set_entropy(kDecoder, 0, 0.4);
  numbers.set_entropy(kDecoder, 1, 0.6);
  numbers.set_entropy(kCross, 0, 0.5);
  const auto heads =
      order_of(RemovalOrder(Criterion::kSimilarity, config, numbers.statistics, {}, nullptr));
  ASSERT_EQ(heads.size(), 6u);
  EXPECT_EQ(heads[0], (HeadPlace{kDecoder, 0, 2}));
  EXPECT_EQ(heads[1], (HeadPlace{kCross, 0, 0}));
  EXPECT_EQ(heads[2], (HeadPlace{kDecoder, 0, 1}));
}

TEST(RemovalOrder, ByEntropyTakesWhatLooksEverywhereAlike) {
  const model::ModelConfig config = one_layer(2);
  Numbers numbers(2);
  numbers.set_entropy(kEncoder, 1, 0.7);
  numbers.set_entropy(kCross, 0, 0.9);
  numbers.set_entropy(kCross, 1, 0.95);
  numbers.set_entropy(kDecoder, 0, 0.2);
  // One head of each layer stays, and so does what is kept.
  EXPECT_THAT(
      order_of(
          RemovalOrder(Criterion::kEntropy, config, numbers.statistics, {{kCross, 0, 1}}, nullptr)),
      ElementsAre(HeadPlace{kCross, 0, 0}, HeadPlace{kEncoder, 0, 1}, HeadPlace{kDecoder, 0, 0}));
}

TEST(RemovalOrder, TheNearestHeadIsOneThatIsLeft) {
  Numbers numbers(3);
  numbers.set_divergence(kEncoder, 0, 1, 0.1);
  numbers.set_divergence(kEncoder, 0, 2, 0.4);
  const HeadPlace head{kEncoder, 0, 0};
  EXPECT_EQ(nearest(numbers.statistics, head, {})->head, 1);
  EXPECT_EQ(nearest(numbers.statistics, head, {{kEncoder, 0, 1}})->head, 2);
  EXPECT_EQ(nearest(numbers.statistics, head, {{kEncoder, 0, 1}})->divergence, 0.4);
  EXPECT_FALSE(nearest(numbers.statistics, head, {{kEncoder, 0, 1}, {kEncoder, 0, 2}}));
}

}  // namespace
}  // namespace filigree::prune
