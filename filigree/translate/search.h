// Beam search over any function that scores next tokens: it knows no model and no tensor.
//
// Every step keeps the best `beam_size` continuations of a sentence. A hypothesis that ends leaves
// the beam, which shrinks by one; the search of a sentence is over when the beam is empty or when
// nothing left in it can reach the n-best list. With a beam of 1 this is greedy search; with a beam
// as large as the number of possible outputs it is exhaustive.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "filigree/translate/step_function.h"

namespace filigree::translate {

/// What to search for. Each field is an option of the same name in generation_config.json.
struct SearchOptions {
  int beam_size = 5;  ///< hypotheses kept for a sentence; 1 is greedy search
  int n_best = 1;     ///< hypotheses returned for a sentence, at most beam_size
  /// score = Σ log p(token) / length^length_penalty, where the sum and the length count the end
  /// token. 0 compares sums, 1 means per token; higher prefers longer outputs.
  double length_penalty = 1.0;
  /// Longest output, without the end token: max_length_factor · source length + max_length_offset.
  double max_length_factor = 2.0;
  int max_length_offset = 10;
  int min_length = 0;      ///< shortest output, without the end token
  bool allow_unk = false;  ///< whether outputs may hold <unk>; see suppress_special_tokens()
  /// Tokens that no output holds, besides the start token. Not part of generation_config.json.
  std::vector<int> suppressed;

  /// Throws UsageError naming the first option that is out of range.
  void check() const;
  int max_length(int source_length) const;
};

/// log_probability / length^length_penalty; an empty output has length 1, its end token.
double normalised_score(double log_probability, size_t length, double length_penalty);

struct Hypothesis {
  std::vector<int> tokens;  ///< without start and end
  /// log p of every token, then of the end token.
  std::vector<float> token_log_probabilities;
  double log_probability = 0;  ///< their sum
  double score = 0;            ///< see SearchOptions::length_penalty
  /// False when every way to go on, or to end, had probability zero; then it lacks the end token.
  bool complete = true;
};

class SentenceSearch;

/// The search of many sentences at once, each at a position of its own: sentences are added at any
/// step and leave as soon as they are over.
class BeamSearch {
 public:
  /// Throws UsageError when an option is out of range. `step` must outlive the search.
  BeamSearch(StepFunction& step, const SearchOptions& options);
  BeamSearch(const BeamSearch&) = delete;
  BeamSearch& operator=(const BeamSearch&) = delete;
  ~BeamSearch();

  /// A sentence that begins with the next step; its number must be above those added before.
  void add(int sentence, int source_length);
  /// Rows that the sentences in work can have in a step, at most.
  int reserved_rows() const;
  bool empty() const;

  struct Finished {
    int sentence;
    /// The n-best hypotheses, best first. There is at least one; fewer than n_best when fewer have
    /// a probability above zero. Equal scores are ordered by the better-scored (or earlier) parent,
    /// then by the lower token id, so that results do not depend on luck.
    std::vector<Hypothesis> n_best;
  };
  /// One more token for every hypothesis of every sentence. Returns the sentences that are over
  /// now, in ascending order. Throws Error when the step function returns NaN.
  std::vector<Finished> step();

 private:
  StepFunction& step_;
  SearchOptions options_;
  TargetVocabulary vocabulary_;
  std::vector<std::pair<int, SentenceSearch>> sentences_;  ///< with their numbers
  std::vector<SearchRow> rows_;
  StepScores scores_;
};

/// The n-best hypotheses of every sentence, searched all at once; see BeamSearch.
std::vector<std::vector<Hypothesis>> beam_search(StepFunction& step,
                                                 std::span<const int> source_lengths,
                                                 const SearchOptions& options);

}  // namespace filigree::translate
