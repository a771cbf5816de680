#include "filigree/translate/alignment.h"

#include <algorithm>
#include <numeric>

#include "filigree/base/error.h"

namespace filigree::translate {
namespace {

std::vector<text::Range> words_of_pieces(const std::string& text,
                                         std::span<const text::Range> places) {
  return text::words_of_pieces(text::words_of(text), places);
}

}  // namespace

AlignmentRule alignment_rule(const model::ModelConfig& model, const GenerationConfig& config) {
  AlignmentRule rule;
  rule.shift = config.alignment_shift;
  const model::AttentionTransform& transform = model.cross_attention;
  rule.argmax = !transform.learned() && transform.fixed_alpha() == 1;
  const auto layers = static_cast<int>(model.decoder_layers), heads = static_cast<int>(model.heads);
  const auto heads_of = [&](int layer) {
    return static_cast<int>(model.heads_of(model::AttentionBlock::kCross, layer));
  };
  for (const auto& [layer, head] : config.alignment_heads) {
    if (layer < 0 || layer >= layers || head < 0 || head >= heads_of(layer)) {
      throw Error(
          "generation_config.json: alignment_heads: [{}, {}] is outside the model, which has "
          "{} layers of {} heads{}",
          layer, head, layers, heads,
          model.heads_left[static_cast<size_t>(model::AttentionBlock::kCross)].empty()
              ? ""
              : ", some of them pruned");
    }
    rule.heads.push_back(layer * heads + head);
  }
  if (rule.heads.empty()) {
    const int layer = std::max(layers - 2, 0);
    rule.heads.resize(heads_of(layer));
    std::iota(rule.heads.begin(), rule.heads.end(), layer * heads);
  }
  std::sort(rule.heads.begin(), rule.heads.end());
  return rule;
}

evaluate::Links piece_links(const AttentionRows& rows, int source_pieces, int target_pieces,
                            const AlignmentRule& rule) {
  evaluate::Links links;
  std::vector<float> weights(source_pieces);  // summed over the heads
  for (int target = 0; target < target_pieces; ++target) {
    const size_t step = static_cast<size_t>(target) + rule.shift;
    if (step >= rows.size()) break;  // an output that was cut off has no end
    std::fill(weights.begin(), weights.end(), 0.0f);
    for (const AttentionWeight& w : *rows[step]) {
      const bool counts =
          std::find(rule.heads.begin(), rule.heads.end(), w.head) != rule.heads.end();
      if (counts && w.source < source_pieces) weights[w.source] += w.weight;
    }
    if (rule.argmax) {
      const auto largest = std::max_element(weights.begin(), weights.end());
      if (largest != weights.end() && *largest > 0) {
        links.push_back({static_cast<int>(largest - weights.begin()), target});
      }
      continue;
    }
    for (int source = 0; source < source_pieces; ++source) {
      if (weights[source] > 0) links.push_back({source, target});
    }
  }
  evaluate::make_set(links);
  return links;
}

evaluate::Links word_links(const evaluate::Links& piece_links,
                           std::span<const text::Range> words_of_source_pieces,
                           std::span<const text::Range> words_of_target_pieces) {
  evaluate::Links links;
  for (const evaluate::Link& link : piece_links) {
    const text::Range sources = words_of_source_pieces[link.source];
    const text::Range targets = words_of_target_pieces[link.target];
    for (size_t source = sources.begin; source < sources.end; ++source) {
      for (size_t target = targets.begin; target < targets.end; ++target) {
        links.push_back({static_cast<int>(source), static_cast<int>(target)});
      }
    }
  }
  evaluate::make_set(links);
  return links;
}

evaluate::Links word_links(const Source& source, const Output& output) {
  return word_links(output.piece_links, words_of_pieces(source.text, source.places),
                    words_of_pieces(output.text, output.places));
}

}  // namespace filigree::translate
