#include "filigree/prune/pruning_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace filigree::prune {
namespace {

using Json = nlohmann::ordered_json;

double rounded(double value) { return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr); }

Json scores_json(const Scores& scores) {
  return {{"heads", scores.heads},
          {"parameters", scores.parameters},
          {"loss", rounded(scores.loss)},
          {"bleu", rounded(scores.bleu)},
          {"chrf", rounded(scores.chrf)}};
}

Json place_json(const HeadPlace& place) {
  return {{"block", model::name_of(place.block)}, {"layer", place.layer}, {"head", place.head}};
}

Json removed_json(const RemovedHead& head) {
  Json json = place_json(head.place);
  json.update({{"loss_rise", rounded(head.loss_rise)},
               {"nearest_head", head.nearest.head},
               {"divergence", rounded(head.nearest.divergence)},
               {"alpha", rounded(head.alpha)},
               {"density", rounded(head.density)},
               {"relative_entropy", rounded(head.relative_entropy)},
               {"role", head.role.empty() ? Json() : Json(head.role)}});
  return json;
}

std::string heads_left_table(const model::ModelConfig& config) {
  std::string table = fmt::format("{:10}", "heads left");
  const int64_t layers = std::max(config.encoder_layers, config.decoder_layers);
  for (int64_t layer = 0; layer < layers; ++layer) {
    table += fmt::format("{:>9}", fmt::format("layer {}", layer + 1));
  }
  for (const auto block : model::kAttentionBlocks) {
    table += fmt::format("\n{:10}", model::name_of(block));
    for (int64_t layer = 0; layer < config.layers(block); ++layer) {
      table += fmt::format("{:>9}", config.heads_of(block, layer));
    }
  }
  return table + "\n";
}

}  // namespace

std::string to_text(const Pruning& p) {
  std::string text = fmt::format(
      "took out {} of {} heads: BLEU {:.2f} → {:.2f} (may fall by {}), loss {:.4f} → {:.4f}, "
      "parameters {} → {} (−{:.1f} %)\n\n",
      p.removed.size(), p.before.heads, p.before.bleu, p.after.bleu, p.options.max_bleu_drop,
      p.before.loss, p.after.loss, p.before.parameters, p.after.parameters,
      100 *
          (1 - static_cast<double>(p.after.parameters) / static_cast<double>(p.before.parameters)));
  text += fmt::format("{:25}{:>11}{:>11}{:>12}{:>9}{:>9}{:>7}  {}\n", "in order", "loss rises",
                      "most like", "differs by", "entropy", "density", "α", "role");
  for (const RemovedHead& head : p.removed) {
    const HeadPlace& at = head.place;
    text += fmt::format(
        "{:25}{:>+11.5f}{:>11}{:>12.3f}{:>9.3f}{:>9.3f}{:>7.2f}  {}\n",
        fmt::format("{} layer {}, head {}", model::name_of(at.block), at.layer + 1, at.head + 1),
        head.loss_rise, fmt::format("head {}", head.nearest.head + 1), head.nearest.divergence,
        head.relative_entropy, head.density, head.alpha, head.role.empty() ? "-" : head.role);
  }
  return text + "\n" + heads_left_table(p.config);
}

Json to_json(const Pruning& p) {
  Json json = {{"model", p.options.model.string()},
               {"output", p.options.output.string()},
               {"criterion", name_of(p.options.criterion)},
               {"max_bleu_drop", p.options.max_bleu_drop},
               {"before", scores_json(p.before)},
               {"after", scores_json(p.after)},
               {"removed", Json::array()},
               {"kept_for_alignments", Json::array()},
               {"measured", Json::array()},
               {"config", Json::parse(model::to_json(p.config))}};
  for (const RemovedHead& head : p.removed) json["removed"].push_back(removed_json(head));
  for (const HeadPlace& head : p.kept) json["kept_for_alignments"].push_back(place_json(head));
  for (const Scores& scores : p.measured) json["measured"].push_back(scores_json(scores));
  return json;
}

}  // namespace filigree::prune
