#include "filigree/translate/translate_ids.h"

#include <utility>

namespace filigree::translate {

void suppress_special_tokens(SearchOptions& options, const text::Tokenizer& target) {
  options.suppressed.push_back(target.pad());
  if (!options.allow_unk) options.suppressed.push_back(target.unk());
}

std::vector<std::vector<Hypothesis>> translate_ids(
    const std::vector<const model::Transformer*>& models, std::vector<SourceSentence> sentences,
    const SearchOptions& search, const BatchOptions& batches) {
  search.check();
  batches.check();
  const Engine engine(models, Precision::kFloat32, {.attention = needs_attention(search)});
  std::vector<std::vector<Hypothesis>> results(sentences.size());
  std::vector<SentenceJob> jobs;
  for (size_t i = 0; i < sentences.size(); ++i) {
    jobs.push_back({std::move(sentences[i]),
                    [&result = results[i]](auto n_best) { result = std::move(n_best); }});
  }
  engine.run(std::move(jobs), search, batches);
  return results;
}

std::vector<std::vector<Hypothesis>> translate_ids(const model::Transformer& model,
                                                   const std::vector<std::span<const int>>& sources,
                                                   const SearchOptions& search,
                                                   const BatchOptions& batches) {
  std::vector<SourceSentence> sentences;
  for (const auto& ids : sources) sentences.push_back({ids, {}, 0});
  return translate_ids({&model}, std::move(sentences), search, batches);
}

}  // namespace filigree::translate
