// Beam search over any function that scores next tokens: it knows no model and no tensor.
//
// Every step keeps the best `beam_size` continuations of a sentence. A hypothesis that ends leaves
// the beam, which shrinks by one; the search of a sentence is over when the beam is empty or when
// nothing left in it can reach the n-best list. With a beam of 1 this is greedy search; with a beam
// as large as the number of possible outputs it is exhaustive.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

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

/// The tokens of the output side.
struct TargetVocabulary {
  int size = 0;
  int start = 0;  ///< what the first step is given as its previous token; never part of an output
  int end = 0;    ///< ends an output
};

/// One live hypothesis, as a step function sees it.
struct SearchRow {
  int sentence;  ///< index into the sentences of this search
  int parent;    ///< the row of the step before that this one continues; −1 in the first step
  int token;     ///< the token that was appended to it
};

/// Scores next tokens. It keeps what it needs from step to step and follows `parent` to put it in
/// order; rows of a sentence stay together and sentences stay in ascending order.
class StepFunction {
 public:
  virtual ~StepFunction() = default;
  virtual TargetVocabulary vocabulary() const = 0;
  /// Writes log p(next token) of every row, [rows, vocabulary]; −inf is a probability of zero. A
  /// row's result must not depend on the other rows.
  virtual void step(std::span<const SearchRow> rows, float* log_probabilities) = 0;
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

/// The n-best hypotheses of every sentence, best first. There is at least one for each; fewer than
/// n_best when fewer have a probability above zero. Equal scores are ordered by the better-scored
/// (or earlier) parent, then by the lower token id, so that results do not depend on luck.
/// Throws Error when the step function returns NaN.
std::vector<std::vector<Hypothesis>> beam_search(StepFunction& step,
                                                 std::span<const int> source_lengths,
                                                 const SearchOptions& options);

}  // namespace filigree::translate
