#include "filigree/translate/search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "filigree/base/error.h"
#include "filigree/translate/sentence_search.h"

namespace filigree::translate {

double normalised_score(double log_probability, size_t length, double length_penalty) {
  return log_probability /
         std::pow(static_cast<double>(std::max<size_t>(length, 1)), length_penalty);
}

void SearchOptions::check() const {
  if (beam_size < 1) throw UsageError("beam-size {} is too small: 1 is greedy search", beam_size);
  if (n_best < 1 || n_best > beam_size) {
    throw UsageError("n-best {} must lie between 1 and the beam size, {}", n_best, beam_size);
  }
  if (!std::isfinite(length_penalty)) throw UsageError("length-penalty must be a finite number");
  if (!(max_length_factor >= 0) || !std::isfinite(max_length_factor)) {
    throw UsageError("max-length-factor {} must be a number from 0 up", max_length_factor);
  }
  if (max_length_offset < 0) {
    throw UsageError("max-length-offset {} must not be negative", max_length_offset);
  }
  if (min_length < 0) throw UsageError("min-length {} must not be negative", min_length);
}

int SearchOptions::max_length(int source_length) const {
  const double length = std::floor(max_length_factor * source_length) + max_length_offset;
  return static_cast<int>(std::min(length, 1e6));
}

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

void BeamSearch::add(int sentence, int source_length) {
  sentences_.emplace_back(sentence, SentenceSearch(source_length, options_, vocabulary_));
}

bool BeamSearch::empty() const { return sentences_.empty(); }

int BeamSearch::reserved_rows() const {
  int rows = 0;
  for (const auto& [number, search] : sentences_) rows += search.reserved_rows();
  return rows;
}

std::vector<BeamSearch::Finished> BeamSearch::step() {
  rows_.clear();
  for (auto& [number, search] : sentences_) search.append_rows(number, rows_);
  if (!rows_.empty()) step_.step(rows_, scores_);
  std::vector<Finished> finished;
  for (auto& [number, search] : sentences_) {
    search.extend(scores_);
    if (!search.over()) continue;
    step_.release(number);
    finished.push_back({number, search.take_results()});
  }
  std::erase_if(sentences_, [](const auto& sentence) { return sentence.second.over(); });
  return finished;
}

std::vector<std::vector<Hypothesis>> beam_search(StepFunction& step,
                                                 std::span<const int> source_lengths,
                                                 const SearchOptions& options) {
  BeamSearch search(step, options);
  for (size_t i = 0; i < source_lengths.size(); ++i) {
    search.add(static_cast<int>(i), source_lengths[i]);
  }
  std::vector<std::vector<Hypothesis>> results(source_lengths.size());
  while (!search.empty()) {
    for (auto& [sentence, n_best] : search.step()) results[sentence] = std::move(n_best);
  }
  return results;
}

}  // namespace filigree::translate
