#include "filigree/inspect/inspection_json.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "filigree/base/version.h"
#include "filigree/inspect/comparison.h"
#include "filigree/inspect/findings.h"
#include "filigree/inspect/history.h"

namespace filigree::inspect {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}
Json number(std::optional<double> value) { return value ? number(*value) : Json(); }

Json estimate(const Estimate& e) {
  return {{"value", number(e.value)}, {"low", number(e.low)}, {"high", number(e.high)}};
}

Json measures_json(const HeadStatistics& head) {
  Json measures;
  for (const MeasureDescription& d : measure_descriptions()) {
    measures[d.name] = number(head[d.measure].value());
  }
  return measures;
}

Json example_json(const std::optional<Example>& example) {
  if (!example) return nullptr;
  return {{"line", example->line}, {"value", number(example->value)}};
}

Json roles_json(const std::vector<Role>& roles) {
  Json list = Json::array();
  for (const Role& role : roles) {
    list.push_back({{"name", role.name},
                    {"evidence", role.evidence},
                    {"value", number(role.value)},
                    {"threshold", number(role.threshold)},
                    {"chance", number(role.chance)},
                    {"best", example_json(role.examples.best)},
                    {"worst", example_json(role.examples.worst)}});
  }
  return list;
}

Json syntax_json(const SyntaxCounts& counts) {
  Json relations = Json::object();
  for (const auto& [label, count] : counts) {
    const auto share = [total = count.total](int64_t hits) {
      return number(static_cast<double>(hits) / static_cast<double>(total));
    };
    relations[label] = {{"to_head", share(count.to_head)},
                        {"to_dependent", share(count.to_dependent)}};
  }
  return relations;
}

Json head_json(const ModelInspection& model, AttentionBlock block, size_t l, size_t h) {
  const auto b = static_cast<size_t>(block);
  const LayerStatistics& layer = model.statistics.of(block).layers[l];
  const HeadStatistics& head = layer.heads[h];
  Json json = {{"alpha", number(model.alpha[b][l][h])},
               {"roles", roles_json(model.roles[b][l][h])},
               {"measures", measures_json(head)},
               {"support", head.support},
               {"densities", head.densities}};
  if (!layer.output_alignment.empty()) {
    json["alignment_error_rate"] = {{"output", number(layer.output_alignment[h].error_rate())},
                                    {"input", number(layer.input_alignment[h].error_rate())}};
  }
  if (!layer.syntax.empty()) json["syntax"] = syntax_json(layer.syntax[h]);
  return json;
}

Json layer_json(const ModelInspection& model, AttentionBlock block, size_t l) {
  const LayerStatistics& layer = model.statistics.of(block).layers[l];
  const size_t heads = layer.heads.size();
  Json json = {{"density", estimate(estimate_of(model, block, l, Headline::kDensity))},
               {"entropy", estimate(estimate_of(model, block, l, Headline::kEntropy))},
               {"js_by_heads", estimate(estimate_of(model, block, l, Headline::kJs))},
               {"js_by_keys", number(layer.diversity.by_keys.value())},
               {"disagreement", Json::array()},
               {"coverage", number(layer.coverage.value())},
               {"heads", Json::array()}};
  for (size_t a = 0; a < heads; ++a) {
    Json row = Json::array();
    for (size_t b = 0; b < heads; ++b) {
      row.push_back(number(layer.diversity.pairs[a * heads + b].value()));
    }
    json["disagreement"].push_back(row);
    json["heads"].push_back(head_json(model, block, l, a));
  }
  return json;
}

Json model_json(const ModelInspection& model) {
  const Statistics& s = model.statistics;
  Json json = {{"name", model.name},
               {"directory", model.directory.string()},
               {"config", Json::parse(model::to_json(model.config))},
               {"sentences", s.sentences},
               {"source_tokens", s.source_tokens},
               {"target_tokens", s.target_tokens},
               {"unmatched_parses", s.unmatched_parses},
               {"coverage",
                {{"value", number(s.coverage.value())},
                 {"words", s.coverage.count},
                 {"looked_at", static_cast<int64_t>(s.coverage.sum)}}}};
  for (const AttentionBlock block : model::kAttentionBlocks) {
    Json& of_block = json["blocks"][name_of(block)];
    of_block = {{"density", estimate(estimate_of(model, block, Headline::kDensity))},
                {"entropy", estimate(estimate_of(model, block, Headline::kEntropy))},
                {"js_by_heads", estimate(estimate_of(model, block, Headline::kJs))},
                {"uniform", measures_json(s.of(block).uniform)},
                {"layers", Json::array()}};
    for (size_t l = 0; l < s.of(block).layers.size(); ++l) {
      of_block["layers"].push_back(layer_json(model, block, l));
    }
  }
  json["history"] = alpha_history(model.directory);
  return json;
}

Json comparison_json(const ModelInspection& base, const ModelInspection& other) {
  Json json = {{"model", other.name}, {"against", base.name}};
  for (const AttentionBlock block : model::kAttentionBlocks) {
    json["blocks"][name_of(block)] = {
        {"density", estimate(difference_of(base, other, block, Headline::kDensity))},
        {"entropy", estimate(difference_of(base, other, block, Headline::kEntropy))},
        {"js_by_heads", estimate(difference_of(base, other, block, Headline::kJs))}};
  }
  return json;
}

Json relations_json(const RelationTable& table) {
  Json list = Json::array();
  for (const auto& [label, row] : table.rows) {
    list.push_back({{"label", label},
                    {"count", row.count},
                    {"offset", row.best_offset()},
                    {"baseline", number(row.baseline())}});
  }
  return list;
}

Json rules_json() {
  Json list = Json::array();
  for (const RoleRule& rule : role_rules()) {
    Json blocks = Json::array();
    for (const AttentionBlock block : rule.blocks) blocks.push_back(name_of(block));
    list.push_back({{"name", rule.name},
                    {"measure", measure_descriptions()[static_cast<size_t>(rule.measure)].name},
                    {"threshold", rule.threshold},
                    {"blocks", blocks}});
  }
  return list;
}

}  // namespace

Json to_json(const Inspection& inspection) {
  Json json = {
      {"filigree_version", version()},
      {"source", inspection.input.source.filename().string()},
      {"target",
       inspection.input.target ? Json(inspection.input.target->filename().string()) : Json()},
      {"passed_over", inspection.passed_over},
      {"samples", inspection.samples},
      {"findings", Json::array()},
      {"models", Json::array()},
      {"comparisons", Json::array()},
      {"relations", relations_json(inspection.relations)},
      {"measures", Json::array()},
      {"role_rules", rules_json()}};
  for (const Finding& finding : findings(inspection)) {
    json["findings"].push_back({{"title", finding.title},
                                {"text", finding.text},
                                {"verdict", to_string(finding.verdict)}});
  }
  for (const MeasureDescription& d : measure_descriptions()) {
    json["measures"].push_back({{"name", d.name}, {"definition", d.definition}});
  }
  for (const ModelInspection& model : inspection.models) {
    json["models"].push_back(model_json(model));
    if (&model != &inspection.models.front()) {
      json["comparisons"].push_back(comparison_json(inspection.models.front(), model));
    }
  }
  return json;
}

}  // namespace filigree::inspect
