// The search of one sentence, step by step.
#pragma once

#include <map>
#include <vector>

#include "filigree/translate/hypothesis.h"
#include "filigree/translate/search_options.h"
#include "filigree/translate/step_function.h"
#include "filigree/translate/token_rules.h"

namespace filigree::translate {

/// What beam search and sampling have in common: hypotheses that grow by a token in every step, and
/// rows of the step function that belong to them.
class SentenceSearch {
 public:
  /// `options` and `vocabulary` must outlive the object.
  SentenceSearch(TokenRules rules, int source_length, const SearchOptions& options,
                 const TargetVocabulary& vocabulary);
  virtual ~SentenceSearch() = default;

  bool over() const { return live_.empty(); }
  /// Rows that a step may have for this sentence, at most, from now on.
  virtual int reserved_rows() const = 0;
  /// Appends one row per live hypothesis.
  void append_rows(int sentence, std::vector<SearchRow>& rows);
  /// Extends the live hypotheses by the scores of those rows, of which it may lower some.
  void extend(StepScores& scores);
  /// The results, once over.
  virtual std::vector<Hypothesis> take_results() = 0;

 protected:
  /// A hypothesis that goes on, and the live one of the step before that it continues.
  struct Continued {
    LiveHypothesis hypothesis;
    int parent;
  };
  /// The next live hypotheses; none when the search is over.
  virtual std::vector<Continued> advance(StepScores& scores) = 0;

  int row(int live) const { return first_row_ + live; }
  /// What the model says of a token, without the repetition penalty.
  double log_probability(int live, int token, StepScores& scores) const;
  /// A live hypothesis and one more token.
  LiveHypothesis extended(int live, int token, StepScores& scores) const;
  Hypothesis finished(LiveHypothesis hypothesis, bool complete) const;

  const SearchOptions& options() const { return *options_; }
  const TargetVocabulary& vocabulary() const { return *vocabulary_; }
  const TokenRules& rules() const { return rules_; }
  const std::vector<LiveHypothesis>& live() const { return live_; }
  /// Tokens of every live hypothesis.
  int length() const { return length_; }

 private:
  void penalise_repetition(StepScores& scores);

  TokenRules rules_;
  const SearchOptions* options_;
  const TargetVocabulary* vocabulary_;
  std::vector<LiveHypothesis> live_;
  std::vector<int> parents_;  ///< for every live hypothesis, its parent among those before
  /// With a repetition penalty: for every live hypothesis, what the model says of its tokens.
  std::vector<std::map<int, double>> unpenalised_;
  int length_ = 0;
  int first_row_ = 0;  ///< of this sentence among the rows of the last step
};

}  // namespace filigree::translate
