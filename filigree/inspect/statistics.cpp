#include "filigree/inspect/statistics.h"

#include <algorithm>

namespace filigree::inspect {
namespace {

template <typename T>
void add_each(std::vector<T>& sums, const std::vector<T>& more) {
  if (sums.empty()) {
    sums = more;
    return;
  }
  for (size_t i = 0; i < more.size(); ++i) sums[i] += more[i];
}

void add_each(std::vector<SyntaxCounts>& sums, const std::vector<SyntaxCounts>& more) {
  sums.resize(more.size());
  for (size_t i = 0; i < more.size(); ++i) {
    for (const auto& [label, counts] : more[i]) sums[i][label] += counts;
  }
}

void merge_into(std::vector<bool>& all, const std::vector<bool>& more) {
  all.resize(std::max(all.size(), more.size()));
  for (size_t i = 0; i < more.size(); ++i) all[i] = all[i] || more[i];
}

void add_words(Mean& mean, const std::vector<bool>& covered) {
  for (const bool word : covered) mean.add(word);
}

LayerStatistics measure_layer(AttentionBlock block, const LayerAttention& heads,
                              const SentenceTokens& tokens,
                              const std::optional<std::vector<int32_t>>& token_of_piece,
                              std::vector<bool>& covered_by_any) {
  LayerStatistics layer;
  layer.diversity = measure_diversity(block, heads);
  std::vector<bool> covered;
  for (const SparseAttention& head : heads) {
    layer.heads.push_back(measure_head(block, head, tokens.queries(block), tokens.keys(block)));
    if (block == AttentionBlock::kCross) {
      merge_into(covered, covered_words(head, tokens.source));
      if (tokens.alignment) {
        const auto measure = [&](AlignmentStep step) {
          return measure_alignment(head, tokens.target, tokens.source, *tokens.alignment, step);
        };
        layer.output_alignment.push_back(measure(AlignmentStep::kOutput));
        layer.input_alignment.push_back(measure(AlignmentStep::kInput));
      }
    }
    if (block == AttentionBlock::kEncoder && token_of_piece) {
      layer.syntax.push_back(measure_syntax(head, *tokens.parse, *token_of_piece));
    }
  }
  add_words(layer.coverage, covered);
  merge_into(covered_by_any, covered);
  return layer;
}

}  // namespace

void LayerStatistics::operator+=(const LayerStatistics& other) {
  add_each(heads, other.heads);
  diversity += other.diversity;
  coverage += other.coverage;
  add_each(output_alignment, other.output_alignment);
  add_each(input_alignment, other.input_alignment);
  if (!other.syntax.empty()) add_each(syntax, other.syntax);
}

std::optional<double> LayerStatistics::mean(Measure measure) const {
  double sum = 0;
  for (const HeadStatistics& head : heads) {
    const auto value = head[measure].value();
    if (!value) return std::nullopt;
    sum += *value;
  }
  return heads.empty() ? std::nullopt : std::optional(sum / static_cast<double>(heads.size()));
}

std::optional<double> BlockStatistics::mean(Measure measure) const {
  double sum = 0;
  for (const LayerStatistics& layer : layers) {
    const auto value = layer.mean(measure);
    if (!value) return std::nullopt;
    sum += *value;
  }
  return layers.empty() ? std::nullopt : std::optional(sum / static_cast<double>(layers.size()));
}

double BlockStatistics::mean_js_by_heads() const {
  double sum = 0;
  for (const LayerStatistics& layer : layers) sum += layer.diversity.by_heads.value().value_or(0);
  return layers.empty() ? 0 : sum / static_cast<double>(layers.size());
}

void Statistics::operator+=(const Statistics& other) {
  sentences += other.sentences;
  source_tokens += other.source_tokens;
  target_tokens += other.target_tokens;
  coverage += other.coverage;
  unmatched_parses += other.unmatched_parses;
  for (size_t b = 0; b < blocks.size(); ++b) {
    add_each(blocks[b].layers, other.blocks[b].layers);
    blocks[b].uniform += other.blocks[b].uniform;
  }
}

Statistics measure_sentence(const SentenceAttention& attention, const SentenceTokens& tokens) {
  Statistics s;
  s.sentences = 1;
  s.source_tokens = tokens.source.size();
  s.target_tokens = tokens.target.size();
  std::optional<std::vector<int32_t>> token_of_piece;
  if (tokens.parse) {
    token_of_piece = match_pieces(tokens.source, *tokens.parse);
    s.unmatched_parses = !token_of_piece;
  }
  std::vector<bool> covered;
  for (const AttentionBlock block : model::kAttentionBlocks) {
    BlockStatistics& of_block = s.blocks[static_cast<size_t>(block)];
    for (const LayerAttention& layer : attention.of(block)) {
      of_block.layers.push_back(measure_layer(block, layer, tokens, token_of_piece, covered));
    }
    const Tokens &queries = tokens.queries(block), &keys = tokens.keys(block);
    of_block.uniform =
        measure_head(block, uniform_attention(block, queries.size(), keys.size()), queries, keys);
  }
  add_words(s.coverage, covered);
  return s;
}

}  // namespace filigree::inspect
