#include "filigree/translate/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "filigree/base/error.h"
#include "filigree/translate/candidates.h"

namespace filigree::translate {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

/// The search of one sentence.
class SentenceSearch {
 public:
  SentenceSearch(int source_length, const SearchOptions& options,
                 const TargetVocabulary& vocabulary)
      : options_(options),
        vocabulary_(vocabulary),
        max_length_(options.max_length(source_length)),
        min_length_(std::min(options.min_length, max_length_)),
        live_(1) {}

  bool over() const { return live_.empty(); }

  /// Appends one row per live hypothesis. `parents_` refer to the sentence's own rows of the last
  /// step, which began at first_row_ there.
  void append_rows(int sentence, std::vector<SearchRow>& rows) {
    const int first_row = static_cast<int>(rows.size());
    for (size_t i = 0; i < live_.size(); ++i) {
      if (length_ == 0) {
        rows.push_back({sentence, -1, vocabulary_.start});
      } else {
        rows.push_back({sentence, first_row_ + parents_[i], live_[i].tokens.back()});
      }
    }
    first_row_ = first_row;
  }

  /// Extends the live hypotheses by the scores of their rows, of which it may overwrite some.
  void extend(float* log_probabilities) {
    float* scores = log_probabilities + static_cast<int64_t>(first_row_) * vocabulary_.size;
    advance(best_continuations(scores), scores);
    if (nothing_left_can_win()) live_.clear();
  }

  std::vector<Hypothesis> take_results() {
    if (finished_.empty()) finished_ = std::move(stranded_);
    std::stable_sort(finished_.begin(), finished_.end(),
                     [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
    if (finished_.size() > static_cast<size_t>(options_.n_best)) finished_.resize(options_.n_best);
    return std::move(finished_);
  }

 private:
  std::vector<Candidate> best_continuations(float* scores) const {
    TopCandidates best(options_.beam_size - static_cast<int>(finished_.size()));
    for (int i = 0; i < static_cast<int>(live_.size()); ++i) {
      float* row = scores + static_cast<int64_t>(i) * vocabulary_.size;
      bool numbers = true;
      if (length_ < max_length_) {
        row[vocabulary_.start] = kMinusInfinity;
        for (const int token : options_.suppressed) row[token] = kMinusInfinity;
        if (length_ < min_length_) row[vocabulary_.end] = kMinusInfinity;
        numbers = best.offer_row(i, live_[i].log_probability, row, vocabulary_.size);
      } else {
        const float end = row[vocabulary_.end];
        numbers = !std::isnan(end);
        best.offer({live_[i].log_probability + end, i, vocabulary_.end});
      }
      if (!numbers) {
        throw Error("the model's log-probabilities are not numbers (NaN); its weights are damaged");
      }
    }
    return best.take();
  }

  /// Makes the candidates the new beam; those that end become results.
  void advance(const std::vector<Candidate>& candidates, const float* scores) {
    std::vector<Hypothesis> next;
    parents_.clear();
    for (const Candidate& candidate : candidates) {
      Hypothesis extended = live_[candidate.row];
      extended.log_probability = candidate.log_probability;
      extended.token_log_probabilities.push_back(
          scores[static_cast<int64_t>(candidate.row) * vocabulary_.size + candidate.token]);
      if (candidate.token == vocabulary_.end) {
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
  void strand() {
    for (Hypothesis& hypothesis : live_) {
      hypothesis.complete = false;
      hypothesis.score = normalised(hypothesis);
    }
    stranded_ = std::move(live_);
  }

  double normalised(const Hypothesis& hypothesis) const {
    return normalised_score(hypothesis.log_probability, hypothesis.token_log_probabilities.size(),
                            options_.length_penalty);
  }

  /// A log-probability only falls with every token, so a live hypothesis scores at most what it has
  /// now, divided for the length that suits it best: the longest or, with a negative penalty, the
  /// shortest.
  bool nothing_left_can_win() const {
    const auto wanted = static_cast<size_t>(options_.n_best);
    if (live_.empty() || finished_.size() < wanted) return false;
    std::vector<double> scores;
    for (const Hypothesis& hypothesis : finished_) scores.push_back(hypothesis.score);
    std::nth_element(scores.begin(), scores.begin() + (wanted - 1), scores.end(), std::greater<>());
    const double to_beat = scores[wanted - 1];
    const double best = live_.front().log_probability;  // the beam is in order
    const double bound = std::max(normalised_score(best, max_length_ + 1, options_.length_penalty),
                                  normalised_score(best, length_ + 1, options_.length_penalty));
    return bound <= to_beat;
  }

  const SearchOptions& options_;
  const TargetVocabulary& vocabulary_;
  int max_length_, min_length_;
  int length_ = 0;     ///< tokens in every live hypothesis
  int first_row_ = 0;  ///< of this sentence among the rows of the last step
  std::vector<Hypothesis> live_;
  std::vector<int> parents_;  ///< for every live hypothesis, its parent in the beam before
  std::vector<Hypothesis> finished_, stranded_;
};

}  // namespace

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

std::vector<std::vector<Hypothesis>> beam_search(StepFunction& step,
                                                 std::span<const int> source_lengths,
                                                 const SearchOptions& options) {
  options.check();
  const TargetVocabulary vocabulary = step.vocabulary();
  for (const int token : options.suppressed) {
    if (token < 0 || token >= vocabulary.size) {
      throw UsageError("suppressed token {} is outside the vocabulary of {}", token,
                       vocabulary.size);
    }
  }
  std::vector<SentenceSearch> sentences;
  for (const int length : source_lengths) sentences.emplace_back(length, options, vocabulary);

  std::vector<SearchRow> rows;
  std::vector<float> log_probabilities;
  while (true) {
    rows.clear();
    for (size_t i = 0; i < sentences.size(); ++i) {
      if (!sentences[i].over()) sentences[i].append_rows(static_cast<int>(i), rows);
    }
    if (rows.empty()) break;
    log_probabilities.resize(
        std::max(log_probabilities.size(), rows.size() * static_cast<size_t>(vocabulary.size)));
    step.step(rows, log_probabilities.data());
    for (SentenceSearch& sentence : sentences) {
      if (!sentence.over()) sentence.extend(log_probabilities.data());
    }
  }

  std::vector<std::vector<Hypothesis>> results;
  for (SentenceSearch& sentence : sentences) results.push_back(sentence.take_results());
  return results;
}

}  // namespace filigree::translate
