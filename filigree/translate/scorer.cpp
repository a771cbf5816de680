#include "filigree/translate/scorer.h"

#include <numeric>
#include <utility>

#include "filigree/model/model_directory.h"
#include "filigree/translate/alignment.h"
#include "filigree/translate/score_ids.h"

namespace filigree::translate {

struct Scorer::State {
  model::Model model;
  ScorerOptions options;
  AlignmentRule rule;
  std::vector<int> heads;  ///< whose weights are needed
};

Scorer::Scorer(const std::filesystem::path& model_directory, ScorerOptions options) {
  BatchOptions{options.threads, options.mini_batch, options.mini_batch_words}.check();
  model::Model model = model::load_model(model_directory);
  const model::ModelConfig& config = model.transformer.config();
  AlignmentRule rule = alignment_rule(config, load_generation_config(model_directory));
  std::vector<int> heads;
  if (options.attention) {
    heads.resize(config.decoder_layers * config.heads);
    std::iota(heads.begin(), heads.end(), 0);
  } else if (options.alignment) {
    heads = rule.heads;
  }
  state_ = std::make_unique<const State>(
      State{std::move(model), options, std::move(rule), std::move(heads)});
}

Scorer::~Scorer() = default;
Scorer::Scorer(Scorer&&) noexcept = default;

std::vector<Translation> Scorer::score(std::span<const text::SentencePair> pairs) const {
  const State& s = *state_;
  std::vector<text::PlacedPieces> sources, targets;
  for (const text::SentencePair& pair : pairs) {
    sources.push_back(s.model.tokenizers.source.encode_with_places(pair.source));
    targets.push_back(s.model.tokenizers.target.encode_with_places(pair.target));
  }
  std::vector<std::span<const int>> source_ids, target_ids;
  for (const auto& pieces : sources) source_ids.emplace_back(pieces.ids);
  for (const auto& pieces : targets) target_ids.emplace_back(pieces.ids);
  auto scored = score_ids(s.model.transformer, source_ids, target_ids, s.heads,
                          {s.options.threads, s.options.mini_batch, s.options.mini_batch_words});

  std::vector<Translation> translations;
  for (size_t i = 0; i < pairs.size(); ++i) {
    Output output;
    output.text = pairs[i].target;
    for (const int id : targets[i].ids) {
      output.pieces.push_back(s.model.tokenizers.target.piece(id));
    }
    output.places = std::move(targets[i].places);
    output.token_log_probabilities = std::move(scored[i].token_log_probabilities);
    output.log_probability = std::accumulate(output.token_log_probabilities.begin(),
                                             output.token_log_probabilities.end(), 0.0);
    output.score = normalised_score(output.log_probability, output.token_log_probabilities.size(),
                                    s.options.length_penalty);
    if (!s.heads.empty()) {
      output.piece_links = piece_links(scored[i].attention, static_cast<int>(sources[i].ids.size()),
                                       static_cast<int>(targets[i].ids.size()), s.rule);
    }
    if (s.options.attention) output.attention = std::move(scored[i].attention);
    translations.emplace_back();
    translations.back().n_best.push_back(std::move(output));
    Source& source = translations.back().source;
    source.text = pairs[i].source;
    source.places = std::move(sources[i].places);
    for (const int id : sources[i].ids) {
      source.pieces.push_back(s.model.tokenizers.source.piece(id));
    }
  }
  return translations;
}

const model::ModelConfig& Scorer::config() const { return state_->model.transformer.config(); }

}  // namespace filigree::translate
