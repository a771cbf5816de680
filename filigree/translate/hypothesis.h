// Outputs of a search, finished and growing.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "filigree/translate/attention_row.h"
#include "filigree/translate/search_options.h"
#include "filigree/translate/step_function.h"

namespace filigree::translate {

struct Hypothesis {
  std::vector<int> tokens;  ///< without start and end
  /// log p of every token, then of the end token.
  std::vector<float> token_log_probabilities;
  double log_probability = 0;  ///< their sum
  /// Tokens of probability zero, which only a constraint can bring in. They make log_probability
  /// −inf and count in the score as if they had probability one.
  int impossible = 0;
  /// What the score adds to log_probability: (repetition_penalty − 1) · log p of every token that
  /// the output already held, as in Keskar et al. (2019), "CTRL", and −word_penalty · length.
  double penalties = 0;
  double coverage = 0;  ///< what the coverage penalty adds to the score, at most 0
  double score = 0;     ///< normalised_score() + coverage
  /// False when every way to go on, or to end, had probability zero; then it lacks the end token.
  bool complete = true;
  bool has_required = true;  ///< whether it contains the required phrases
  AttentionRows attention;   ///< for every token and the end; see SearchOptions::attention_heads
};

/// log_probability / length^length_penalty, where the length counts the end token; an empty output
/// has length 1. 0 compares sums, 1 means per token; higher prefers longer outputs. Penalties are
/// part of the log-probability here.
double normalised_score(double log_probability, size_t length, double length_penalty);

/// Wu et al. (2016), "Google's Neural Machine Translation System", equation 14: the sum over the
/// source pieces of log(min(attention, 1)), where `attention` is what a piece received from all
/// target positions. It counts as 0.01 at least, since sparse attention may be exactly zero.
double log_coverage(std::span<const float> attention);

/// A hypothesis while it grows.
struct LiveHypothesis {
  /// Its log-probability is the sum without impossible tokens; its penalties are those of
  /// repetition; coverage and score are not set yet.
  Hypothesis so_far;
  /// The attention that every source piece has received, the mean over the heads of the last layer;
  /// empty without a coverage penalty.
  std::vector<float> attention;

  /// The hypothesis and one more token, by `row` of the scores. log_probability: what the model
  /// says of it, which the scores have with the repetition penalty.
  LiveHypothesis extended(int token, double log_probability, StepScores& scores, int row, int end,
                          const SearchOptions& options) const;
  /// The result; `complete`: its last token is the end.
  Hypothesis finished(const SearchOptions& options, bool complete) &&;
};

/// Whether hypothesis a is the better result: it has fewer impossible tokens or, with as many, a
/// higher score.
bool scores_better(const Hypothesis& a, const Hypothesis& b);

}  // namespace filigree::translate
