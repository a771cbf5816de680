#include "filigree/translate/alignment.h"

#include <algorithm>

#include "filigree/base/error.h"

namespace filigree::translate {
namespace {

std::vector<text::Range> words_of_pieces(const std::string& text,
                                         std::span<const text::Range> places) {
  return text::words_of_pieces(text::words_of(text), places);
}

}  // namespace

bool has_softmax_attention(const model::ModelConfig& model) {
  const model::AttentionTransform& transform = model.cross_attention;
  return !transform.learned() && transform.fixed_alpha() == 1;
}

AlignmentRule alignment_rule(const model::ModelConfig& model, const GenerationConfig& config) {
  AlignmentRule rule;
  rule.shift = config.alignment_shift;
  rule.argmax = config.alignment_heads.empty() || has_softmax_attention(model);
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
  std::sort(rule.heads.begin(), rule.heads.end());
  rule.heads.erase(std::unique(rule.heads.begin(), rule.heads.end()), rule.heads.end());
  if (rule.heads.empty()) {
    for (int layer = 0; layer < layers; ++layer) {
      for (int head = 0; head < heads_of(layer); ++head) rule.heads.push_back(layer * heads + head);
    }
  } else if (config.alignment_votes < 0 ||
             config.alignment_votes > static_cast<int>(rule.heads.size())) {
    throw Error("generation_config.json: alignment_votes: {} of {} heads cannot be",
                config.alignment_votes, rule.heads.size());
  }
  rule.votes = config.alignment_votes;
  return rule;
}

evaluate::Links piece_links(const AttentionRows& rows, int source_pieces, int target_pieces,
                            const AlignmentRule& rule) {
  evaluate::Links links;
  std::vector<float> weights(source_pieces);  // summed over the heads …
  std::vector<int> votes(source_pieces);      // … of which so many are above zero
  const int needed = rule.votes > 0 ? rule.votes : static_cast<int>(rule.heads.size());
  for (int target = 0; target < target_pieces; ++target) {
    const size_t step = static_cast<size_t>(target) + rule.shift;
    if (step >= rows.size()) break;  // an output that was cut off has no end
    std::fill(weights.begin(), weights.end(), 0.0f);
    std::fill(votes.begin(), votes.end(), 0);
    for (const AttentionWeight& w : *rows[step]) {
      const bool counts =
          std::find(rule.heads.begin(), rule.heads.end(), w.head) != rule.heads.end();
      if (!counts || w.source >= source_pieces) continue;
      weights[w.source] += w.weight;
      votes[w.source] += w.weight > 0;
    }
    if (rule.argmax) {
      const auto largest = std::max_element(weights.begin(), weights.end());
      if (largest != weights.end() && *largest > 0) {
        links.push_back({static_cast<int>(largest - weights.begin()), target});
      }
      continue;
    }
    for (int source = 0; source < source_pieces; ++source) {
      if (votes[source] >= needed) links.push_back({source, target});
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
