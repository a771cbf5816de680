#include "filigree/prune/removal_order.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace filigree::prune {
namespace {

using inspect::Measure;

const inspect::LayerStatistics& layer_of(const inspect::Statistics& statistics,
                                         const HeadPlace& place) {
  return statistics.of(place.block).layers[static_cast<size_t>(place.layer)];
}

double relative_entropy(const inspect::Statistics& statistics, const HeadPlace& place) {
  return layer_of(statistics, place)
      .heads[static_cast<size_t>(place.head)][Measure::kRelativeEntropy]
      .value()
      .value_or(0);
}

HeadSet with(HeadSet heads, const HeadPlace& one) {
  heads.insert(one);
  return heads;
}

// Both heads of the closest pair are equally near to each other: the one that looks more widely
// goes first.
HeadPlace least_by_similarity(const inspect::Statistics& statistics, const HeadSet& removed,
                              const std::vector<HeadPlace>& candidates) {
  const auto key = [&](const HeadPlace& place) {
    return std::pair(nearest(statistics, place, removed)->divergence,
                     -relative_entropy(statistics, place));
  };
  return *std::min_element(candidates.begin(), candidates.end(),
                           [&](const HeadPlace& a, const HeadPlace& b) { return key(a) < key(b); });
}

}  // namespace

const char* name_of(Criterion criterion) {
  switch (criterion) {
    case Criterion::kLoss:
      return "loss";
    case Criterion::kSimilarity:
      return "similarity";
    default:
      return "entropy";
  }
}

std::optional<Neighbour> nearest(const inspect::Statistics& statistics, const HeadPlace& head,
                                 const HeadSet& removed) {
  const inspect::LayerStatistics& layer = layer_of(statistics, head);
  const auto heads = static_cast<int64_t>(layer.heads.size());
  std::optional<Neighbour> best;
  for (int64_t other = 0; other < heads; ++other) {
    if (other == head.head || removed.contains({head.block, head.layer, other})) continue;
    const double divergence =
        layer.diversity.pairs[static_cast<size_t>(head.head * heads + other)].value().value_or(0);
    if (!best || divergence < best->divergence) best = {other, divergence};
  }
  return best;
}

RemovalOrder::RemovalOrder(Criterion criterion, const model::ModelConfig& config,
                           const inspect::Statistics& statistics, HeadSet kept, LossWithout loss)
    : criterion_(criterion),
      config_(config),
      statistics_(statistics),
      kept_(std::move(kept)),
      loss_(std::move(loss)) {}

std::vector<HeadPlace> RemovalOrder::candidates(const HeadSet& removed) const {
  std::vector<HeadPlace> all;
  for (const auto block : model::kAttentionBlocks) {
    for (int64_t layer = 0; layer < config_.layers(block); ++layer) {
      std::vector<HeadPlace> left;
      for (int64_t head = 0; head < config_.heads_of(block, layer); ++head) {
        const HeadPlace place{block, layer, head};
        if (!removed.contains(place)) left.push_back(place);
      }
      if (left.size() < 2) continue;
      std::copy_if(left.begin(), left.end(), std::back_inserter(all),
                   [&](const HeadPlace& place) { return !kept_.contains(place); });
    }
  }
  return all;
}

// Every head is measured once, and again only when it seems to be the next: if its rise is still
// the smallest then, that of the others would have to fall for one of them to be better.
HeadPlace RemovalOrder::next_by_loss(const HeadSet& removed,
                                     const std::vector<HeadPlace>& candidates) {
  const double before = loss_(removed);
  HeadSet measured;
  const auto rise = [&](const HeadPlace& place) {
    const auto found = rise_.find(place);
    return found == rise_.end() ? -std::numeric_limits<double>::infinity() : found->second;
  };
  for (;;) {
    const HeadPlace best = *std::min_element(
        candidates.begin(), candidates.end(),
        [&](const HeadPlace& a, const HeadPlace& b) { return rise(a) < rise(b); });
    if (!measured.insert(best).second) return best;
    rise_[best] = loss_(with(removed, best)) - before;
  }
}

std::optional<HeadPlace> RemovalOrder::next(const HeadSet& removed) {
  const std::vector<HeadPlace> all = candidates(removed);
  if (all.empty()) return std::nullopt;
  switch (criterion_) {
    case Criterion::kLoss:
      return next_by_loss(removed, all);
    case Criterion::kSimilarity:
      return least_by_similarity(statistics_, removed, all);
    default:
      return *std::max_element(all.begin(), all.end(), [&](const HeadPlace& a, const HeadPlace& b) {
        return relative_entropy(statistics_, a) < relative_entropy(statistics_, b);
      });
  }
}

}  // namespace filigree::prune
