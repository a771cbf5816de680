// What a head does, by thresholds on its measures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "filigree/inspect/examples.h"
#include "filigree/inspect/statistics.h"

namespace filigree::inspect {

/// A role with its evidence: it is given when the value reaches the threshold and is at least one
/// and a half times what uniform attention gives.
struct Role {
  std::string name;      ///< such as "previous token"
  std::string evidence;  ///< the measure, by its name in JSON
  double value, threshold;
  double chance = 0;  ///< of uniform attention or, for syntax, of a fixed offset
  ExamplePair examples;

  /// How far above the threshold, as a share of what is possible.
  double margin() const { return threshold < 1 ? (value - threshold) / (1 - threshold) : 0; }
};

struct RoleRule {
  const char* name;
  Measure measure;
  double threshold;
  int64_t least_count;  ///< queries or words that the measure must rest on
  std::vector<AttentionBlock> blocks;
};
/// All rules that rest on a measure. The thresholds are ours: the paper gives none.
const std::vector<RoleRule>& role_rules();

/// A relation is followed when its accuracy is this much above that of a fixed offset (Voita et
/// al., 2019), in at least kLeastRelations cases.
inline constexpr double kSyntaxMargin = 0.10;
inline constexpr int64_t kLeastRelations = 20;
/// A cross-attention head aligns words when 1 − alignment error rate reaches this.
inline constexpr double kAlignmentThreshold = 0.5;

/// The roles of one head, the clearest first; none when no rule applies.
std::vector<Role> roles_of_head(const Statistics& statistics, AttentionBlock block, size_t layer,
                                size_t head, const Examples& examples,
                                const RelationTable& relations);

}  // namespace filigree::inspect
