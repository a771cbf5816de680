#include "filigree/translate/sentence_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "filigree/base/error.h"

namespace filigree::translate {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

}  // namespace

SentenceSearch::SentenceSearch(int source_length, const SearchOptions& options,
                               const TargetVocabulary& vocabulary)
    : options_(&options),
      vocabulary_(&vocabulary),
      max_length_(options.max_length(source_length)),
      min_length_(std::min(options.min_length, max_length_)),
      live_(1) {}

void SentenceSearch::append_rows(int sentence, std::vector<SearchRow>& rows) {
  const int first_row = static_cast<int>(rows.size());
  for (size_t i = 0; i < live_.size(); ++i) {
    if (length_ == 0) {
      rows.push_back({sentence, -1, vocabulary_->start});
    } else {
      rows.push_back({sentence, first_row_ + parents_[i], live_[i].tokens.back()});
    }
  }
  first_row_ = first_row;
}

void SentenceSearch::extend(StepScores& scores) {
  advance(best_continuations(scores), scores);
  if (nothing_left_can_win()) live_.clear();
}

std::vector<Hypothesis> SentenceSearch::take_results() {
  if (finished_.empty()) finished_ = std::move(stranded_);
  std::stable_sort(finished_.begin(), finished_.end(),
                   [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  if (finished_.size() > static_cast<size_t>(options_->n_best)) finished_.resize(options_->n_best);
  return std::move(finished_);
}

std::vector<Candidate> SentenceSearch::best_continuations(StepScores& scores) const {
  TopCandidates best(reserved_rows());
  for (int i = 0; i < static_cast<int>(live_.size()); ++i) {
    const int row = first_row_ + i;
    if (std::isnan(scores.log_normaliser(row))) {
      throw Error("the model's log-probabilities are not numbers (NaN); its weights are damaged");
    }
    float* const values = scores.values(row);
    if (length_ < max_length_) {
      values[vocabulary_->start] = kMinusInfinity;
      for (const int token : options_->suppressed) values[token] = kMinusInfinity;
      if (length_ < min_length_) values[vocabulary_->end] = kMinusInfinity;
      best.offer_row(i, live_[i].log_probability, scores, row);
    } else {
      const int end = vocabulary_->end;
      best.offer({live_[i].log_probability + scores.log_probability(row, end), i, end});
    }
  }
  return best.take();
}

/// Makes the candidates the new beam; those that end become results.
void SentenceSearch::advance(const std::vector<Candidate>& candidates, StepScores& scores) {
  std::vector<Hypothesis> next;
  parents_.clear();
  for (const Candidate& candidate : candidates) {
    Hypothesis extended = live_[candidate.row];
    extended.log_probability = candidate.log_probability;
    extended.token_log_probabilities.push_back(
        static_cast<float>(scores.log_probability(first_row_ + candidate.row, candidate.token)));
    if (candidate.token == vocabulary_->end) {
      extended.score = normalised(extended);
      finished_.push_back(std::move(extended));
    } else {
      extended.tokens.push_back(candidate.token);
      parents_.push_back(candidate.row);
      next.push_back(std::move(extended));
    }
  }
  if (candidates.empty()) strand();
  live_ = std::move(next);
  ++length_;
}

/// Every continuation has probability zero: what there is must do if nothing has finished.
void SentenceSearch::strand() {
  for (Hypothesis& hypothesis : live_) {
    hypothesis.complete = false;
    hypothesis.score = normalised(hypothesis);
  }
  stranded_ = std::move(live_);
}

double SentenceSearch::normalised(const Hypothesis& hypothesis) const {
  return normalised_score(hypothesis.log_probability, hypothesis.token_log_probabilities.size(),
                          options_->length_penalty);
}

/// A log-probability only falls with every token, so a live hypothesis scores at most what it has
/// now, divided for the length that suits it best: the longest or, with a negative penalty, the
/// shortest.
bool SentenceSearch::nothing_left_can_win() const {
  const auto wanted = static_cast<size_t>(options_->n_best);
  if (live_.empty() || finished_.size() < wanted) return false;
  std::vector<double> scores;
  for (const Hypothesis& hypothesis : finished_) scores.push_back(hypothesis.score);
  std::nth_element(scores.begin(), scores.begin() + (wanted - 1), scores.end(), std::greater<>());
  const double to_beat = scores[wanted - 1];
  const double best = live_.front().log_probability;  // the beam is in order
  const double bound = std::max(normalised_score(best, max_length_ + 1, options_->length_penalty),
                                normalised_score(best, length_ + 1, options_->length_penalty));
  return bound <= to_beat;
}

}  // namespace filigree::translate
