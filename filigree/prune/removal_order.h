// Which head goes next, when heads are taken out of a model one by one.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "filigree/inspect/statistics.h"
#include "filigree/model/remove_heads.h"

namespace filigree::prune {

using model::HeadPlace;
using HeadSet = std::set<HeadPlace>;

/// What makes a head redundant, on the development set.
enum class Criterion {
  /// The loss rises least when it goes: with those that are gone already, not by itself alone.
  kLoss,
  /// Another head of its layer looks at the same: the Jensen-Shannon divergence to the nearest one
  /// that is left is the smallest.
  kSimilarity,
  /// It looks everywhere alike: its relative entropy is the largest.
  kEntropy,
};
/// "loss", "similarity" or "entropy".
const char* name_of(Criterion criterion);

/// The loss on the development set without these heads.
using LossWithout = std::function<double(const HeadSet& removed)>;

class RemovalOrder {
 public:
  /// statistics: of the whole model, of which `config` is; they and `loss` must outlive this.
  /// kept: heads that never go.
  RemovalOrder(Criterion criterion, const model::ModelConfig& config,
               const inspect::Statistics& statistics, HeadSet kept, LossWithout loss);

  /// The next one, given those that are gone; nothing when every layer of every block is down to
  /// one head or to those that are kept.
  std::optional<HeadPlace> next(const HeadSet& removed);

 private:
  std::vector<HeadPlace> candidates(const HeadSet& removed) const;
  HeadPlace next_by_loss(const HeadSet& removed, const std::vector<HeadPlace>& candidates);

  Criterion criterion_;
  const model::ModelConfig& config_;
  const inspect::Statistics& statistics_;
  HeadSet kept_;
  LossWithout loss_;
  /// The last measured rise of the loss, by head; with more heads gone it is seldom smaller.
  std::map<HeadPlace, double> rise_;
};

/// The head of its layer that looks most at what `head` looks at, of those that are not removed,
/// and the Jensen-Shannon divergence ÷ log 2 to it.
struct Neighbour {
  int64_t head;
  double divergence;
};
std::optional<Neighbour> nearest(const inspect::Statistics& statistics, const HeadPlace& head,
                                 const HeadSet& removed);

}  // namespace filigree::prune
