#include "filigree/translate/search.h"

#include <utility>

#include "filigree/base/error.h"
#include "filigree/translate/sentence_beam.h"
#include "filigree/translate/sentence_samples.h"

namespace filigree::translate {

BeamSearch::BeamSearch(StepFunction& step, const SearchOptions& options)
    : step_(step), options_(options), vocabulary_(step.vocabulary()) {
  options.check();
  for (const int token : options.suppressed) {
    if (token < 0 || token >= vocabulary_.size) {
      throw UsageError("suppressed token {} is outside the vocabulary of {}", token,
                       vocabulary_.size);
    }
  }
}

BeamSearch::~BeamSearch() = default;

void BeamSearch::add(int sentence, SentenceToSearch what) {
  if (options_.sampling && !what.constraints.required.empty()) {
    throw UsageError("required phrases need a beam search, not sampling");
  }
  TokenRules rules(options_, vocabulary_, what.source_length, std::move(what.constraints));
  std::unique_ptr<SentenceSearch> search;
  if (options_.sampling) {
    search = std::make_unique<SentenceSamples>(std::move(rules), what.source_length, options_,
                                               vocabulary_, what.key);
  } else {
    search =
        std::make_unique<SentenceBeam>(std::move(rules), what.source_length, options_, vocabulary_);
  }
  sentences_.emplace_back(sentence, std::move(search));
}

bool BeamSearch::empty() const { return sentences_.empty(); }

int BeamSearch::reserved_rows() const {
  int rows = 0;
  for (const auto& [number, search] : sentences_) rows += search->reserved_rows();
  return rows;
}

std::vector<BeamSearch::Finished> BeamSearch::step() {
  rows_.clear();
  for (auto& [number, search] : sentences_) search->append_rows(number, rows_);
  if (!rows_.empty()) step_.step(rows_, scores_);
  std::vector<Finished> finished;
  for (auto& [number, search] : sentences_) {
    search->extend(scores_);
    if (!search->over()) continue;
    step_.release(number);
    finished.push_back({number, search->take_results()});
  }
  std::erase_if(sentences_, [](const auto& sentence) { return sentence.second->over(); });
  return finished;
}

std::vector<std::vector<Hypothesis>> beam_search(StepFunction& step,
                                                 std::vector<SentenceToSearch> sentences,
                                                 const SearchOptions& options) {
  BeamSearch search(step, options);
  for (size_t i = 0; i < sentences.size(); ++i) {
    search.add(static_cast<int>(i), std::move(sentences[i]));
  }
  std::vector<std::vector<Hypothesis>> results(sentences.size());
  while (!search.empty()) {
    for (auto& [sentence, n_best] : search.step()) results[sentence] = std::move(n_best);
  }
  return results;
}

}  // namespace filigree::translate
