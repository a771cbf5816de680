#include "filigree/inspect/examples.h"

namespace filigree::inspect {
namespace {

constexpr int64_t kShortest = 6, kLongest = 40;

}  // namespace

void Examples::consider(const Statistics& sentence, int64_t line) {
  for (size_t b = 0; b < pairs_.size(); ++b) {
    const BlockStatistics& block = sentence.blocks[b];
    pairs_[b].resize(block.layers.size());
    const int64_t queries = block.uniform[Measure::kEntropy].count;
    if (queries < kShortest || queries > kLongest) continue;
    for (size_t l = 0; l < block.layers.size(); ++l) {
      const std::vector<HeadStatistics>& heads = block.layers[l].heads;
      pairs_[b][l].resize(heads.size());
      for (size_t h = 0; h < heads.size(); ++h) {
        for (size_t m = 0; m < kMeasureCount; ++m) {
          const auto value = heads[h].means[m].value();
          if (!value) continue;
          ExamplePair& pair = pairs_[b][l][h][m];
          if (!pair.best || *value > pair.best->value) pair.best = {*value, line};
          if (!pair.worst || *value < pair.worst->value) pair.worst = {*value, line};
        }
      }
    }
  }
}

ExamplePair Examples::of(AttentionBlock block, size_t layer, size_t head, Measure measure) const {
  const auto& layers = pairs_[static_cast<size_t>(block)];
  if (layer >= layers.size() || head >= layers[layer].size()) return {};
  return layers[layer][head][static_cast<size_t>(measure)];
}

}  // namespace filigree::inspect
