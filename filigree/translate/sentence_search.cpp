#include "filigree/translate/sentence_search.h"

#include <cmath>
#include <utility>

#include "filigree/base/error.h"

namespace filigree::translate {

SentenceSearch::SentenceSearch(TokenRules rules, int source_length, const SearchOptions& options,
                               const TargetVocabulary& vocabulary)
    : rules_(std::move(rules)), options_(&options), vocabulary_(&vocabulary), live_(1) {
  if (options.coverage_penalty > 0) live_[0].attention.resize(source_length);
}

void SentenceSearch::append_rows(int sentence, std::vector<SearchRow>& rows) {
  const int first_row = static_cast<int>(rows.size());
  for (size_t i = 0; i < live_.size(); ++i) {
    if (length_ == 0) {
      rows.push_back({sentence, -1, vocabulary_->start});
    } else {
      rows.push_back({sentence, row(parents_[i]), live_[i].so_far.tokens.back()});
    }
  }
  first_row_ = first_row;
}

void SentenceSearch::extend(StepScores& scores) {
  for (int i = 0; i < static_cast<int>(live_.size()); ++i) {
    if (std::isnan(scores.log_normaliser(row(i)))) {
      throw Error("the model's log-probabilities are not numbers (NaN); its weights are damaged");
    }
  }
  if (options_->repetition_penalty > 1) penalise_repetition(scores);
  std::vector<Continued> next = advance(scores);
  live_.clear();
  parents_.clear();
  for (Continued& continued : next) {
    live_.push_back(std::move(continued.hypothesis));
    parents_.push_back(continued.parent);
  }
  ++length_;
}

void SentenceSearch::penalise_repetition(StepScores& scores) {
  unpenalised_.assign(live_.size(), {});
  for (int i = 0; i < static_cast<int>(live_.size()); ++i) {
    float* const values = scores.values(row(i));
    for (const int token : live_[i].so_far.tokens) {
      const double log_probability = scores.log_probability(row(i), token);
      if (!unpenalised_[i].emplace(token, log_probability).second) continue;
      values[token] = static_cast<float>(scores.log_normaliser(row(i)) +
                                         options_->repetition_penalty * log_probability);
    }
  }
}

double SentenceSearch::log_probability(int live, int token, StepScores& scores) const {
  if (options_->repetition_penalty > 1) {
    const auto found = unpenalised_[live].find(token);
    if (found != unpenalised_[live].end()) return found->second;
  }
  return scores.log_probability(row(live), token);
}

LiveHypothesis SentenceSearch::extended(int live, int token, StepScores& scores) const {
  return live_[live].extended(token, log_probability(live, token, scores), scores, row(live),
                              vocabulary_->end, *options_);
}

Hypothesis SentenceSearch::finished(LiveHypothesis hypothesis, bool complete) const {
  Hypothesis result = std::move(hypothesis).finished(*options_, complete);
  result.has_required = rules_.has_required(result.tokens);
  return result;
}

}  // namespace filigree::translate
