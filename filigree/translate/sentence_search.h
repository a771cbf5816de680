// Beam search for one sentence: its hypotheses, and what becomes of them in a step.
#pragma once

#include <vector>

#include "filigree/translate/candidates.h"
#include "filigree/translate/search.h"
#include "filigree/translate/step_function.h"

namespace filigree::translate {

class SentenceSearch {
 public:
  /// `options` and `vocabulary` must outlive the object.
  SentenceSearch(int source_length, const SearchOptions& options,
                 const TargetVocabulary& vocabulary);

  bool over() const { return live_.empty(); }
  /// Rows that a step may have for this sentence, at most, from now on.
  int reserved_rows() const { return options_->beam_size - static_cast<int>(finished_.size()); }

  /// Appends one row per live hypothesis.
  void append_rows(int sentence, std::vector<SearchRow>& rows);
  /// Extends the live hypotheses by the scores of those rows, of which it may lower some.
  void extend(StepScores& scores);
  /// The n-best hypotheses, once over.
  std::vector<Hypothesis> take_results();

 private:
  std::vector<Candidate> best_continuations(StepScores& scores) const;
  void advance(const std::vector<Candidate>& candidates, StepScores& scores);
  void strand();
  double normalised(const Hypothesis& hypothesis) const;
  bool nothing_left_can_win() const;

  const SearchOptions* options_;
  const TargetVocabulary* vocabulary_;
  int max_length_, min_length_;
  int length_ = 0;     ///< tokens in every live hypothesis
  int first_row_ = 0;  ///< of this sentence among the rows of the last step
  std::vector<Hypothesis> live_;
  std::vector<int> parents_;  ///< for every live hypothesis, its parent in the beam before
  std::vector<Hypothesis> finished_, stranded_;
};

}  // namespace filigree::translate
