#include "filigree/inspect/roles.h"

#include <fmt/format.h>

#include <algorithm>

namespace filigree::inspect {
namespace {

constexpr double kAboveChance = 1.5;

void add_measured(std::vector<Role>& roles, const HeadStatistics& head,
                  const HeadStatistics& uniform, AttentionBlock block) {
  for (const RoleRule& rule : role_rules()) {
    if (std::find(rule.blocks.begin(), rule.blocks.end(), block) == rule.blocks.end()) continue;
    const Mean& mean = head[rule.measure];
    const auto value = mean.value();
    if (!value || mean.count < rule.least_count || *value < rule.threshold) continue;
    const double chance = uniform[rule.measure].value().value_or(0);
    if (rule.measure != Measure::kRelativeEntropy && *value < kAboveChance * chance) continue;
    roles.push_back({rule.name,
                     measure_descriptions()[static_cast<size_t>(rule.measure)].name,
                     *value,
                     rule.threshold,
                     chance,
                     {}});
  }
}

void add_syntax(std::vector<Role>& roles, const SyntaxCounts& counts,
                const RelationTable& relations) {
  for (const auto& [label, count] : counts) {
    if (count.total < kLeastRelations) continue;
    const double chance = relations.rows.at(label).baseline();
    const auto consider = [&](int64_t hits, const char* direction) {
      const double value = static_cast<double>(hits) / static_cast<double>(count.total);
      if (value < chance + kSyntaxMargin) return;
      roles.push_back({fmt::format("syntax: {}", label),
                       fmt::format("{} {}", direction, label),
                       value,
                       chance + kSyntaxMargin,
                       chance,
                       {}});
    };
    consider(count.to_head, "to_head");
    consider(count.to_dependent, "to_dependent");
  }
}

void add_alignment(std::vector<Role>& roles, const LayerStatistics& layer, size_t head) {
  if (layer.output_alignment.empty()) return;
  const double agreement = 1 - std::min(layer.output_alignment[head].error_rate(),
                                        layer.input_alignment[head].error_rate());
  if (agreement < kAlignmentThreshold) return;
  roles.push_back({"word alignment", "alignment", agreement, kAlignmentThreshold, 0, {}});
}

}  // namespace

const std::vector<RoleRule>& role_rules() {
  constexpr auto kEncoder = AttentionBlock::kEncoder, kCross = AttentionBlock::kCross,
                 kDecoder = AttentionBlock::kDecoder;
  static const std::vector<RoleRule> kRules = {
      {"two tokens back", Measure::kTwoBefore, 0.75, 20, {kEncoder, kDecoder}},
      {"previous token", Measure::kPrevious, 0.75, 20, {kEncoder, kDecoder}},
      {"own token", Measure::kSame, 0.75, 20, {kEncoder, kDecoder}},
      {"next token", Measure::kNext, 0.75, 20, {kEncoder}},
      {"two tokens ahead", Measure::kTwoAfter, 0.75, 20, {kEncoder}},
      {"same position", Measure::kSame, 0.75, 20, {kCross}},
      {"merges word pieces", Measure::kWordPieces, 0.80, 20, {kEncoder, kDecoder}},
      {"start or end mark", Measure::kMark, 0.75, 20, {kEncoder, kCross, kDecoder}},
      {"punctuation", Measure::kPunctuation, 0.60, 20, {kEncoder, kCross, kDecoder}},
      {"rare words", Measure::kRare, 0.60, 20, {kEncoder, kCross}},
      {"question", Measure::kQuestion, 0.75, 5, {kEncoder}},
      {"broad", Measure::kRelativeEntropy, 0.85, 20, {kEncoder, kCross, kDecoder}},
  };
  return kRules;
}

std::vector<Role> roles_of_head(const Statistics& statistics, AttentionBlock block, size_t layer,
                                size_t head, const Examples& examples,
                                const RelationTable& relations) {
  const BlockStatistics& of_block = statistics.of(block);
  const LayerStatistics& of_layer = of_block.layers[layer];
  std::vector<Role> roles;
  add_measured(roles, of_layer.heads[head], of_block.uniform, block);
  if (!of_layer.syntax.empty()) add_syntax(roles, of_layer.syntax[head], relations);
  add_alignment(roles, of_layer, head);
  for (Role& role : roles) {
    for (const MeasureDescription& description : measure_descriptions()) {
      if (role.evidence == description.name) {
        role.examples = examples.of(block, layer, head, description.measure);
      }
    }
  }
  std::stable_sort(roles.begin(), roles.end(),
                   [](const Role& a, const Role& b) { return a.margin() > b.margin(); });
  return roles;
}

}  // namespace filigree::inspect
