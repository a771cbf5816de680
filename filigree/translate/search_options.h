// What to search for.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "filigree/translate/phrase_graph.h"
#include "filigree/translate/required_phrases.h"
#include "filigree/translate/sampling.h"

namespace filigree::translate {

/// What holds for every sentence. The fields down to token_sampling are options of the same name in
/// generation_config.json, with those of token_sampling among them.
struct SearchOptions {
  int beam_size = 5;  ///< hypotheses kept for a sentence; 1 is greedy search
  int n_best = 1;     ///< hypotheses returned for a sentence, without sampling at most beam_size
  /// score = (log_probability + penalties) / length^length_penalty
  ///         + coverage_penalty · log_coverage(attention),
  /// see normalised_score(), Hypothesis::penalties and log_coverage().
  double length_penalty = 1.0;
  double word_penalty = 0;
  double repetition_penalty = 1;
  double coverage_penalty = 0;
  /// Longest output, without the end token: max_length_factor · source length + max_length_offset.
  double max_length_factor = 2.0;
  int max_length_offset = 10;
  /// Shortest output, without the end token: the larger of min_length_factor · source length and
  /// min_length, but never above the longest.
  double min_length_factor = 0;
  int min_length = 0;
  int no_repeat_ngram_size = 0;  ///< no n-gram of so many tokens twice in an output; 0: any
  bool allow_unk = false;        ///< whether outputs may hold <unk>; see suppress_special_tokens()
  /// Draw n_best outputs independently, token by token, instead of searching for the best.
  bool sampling = false;
  TokenSampling token_sampling;
  uint64_t seed = 1;  ///< of the draws

  /// Tokens that no output holds, besides the start token.
  std::vector<int> suppressed;
  /// Phrases that no output contains; none when null.
  std::shared_ptr<const PhraseGraph> banned;

  /// Heads of the cross-attention (layer · heads + head, ascending) whose weights hypotheses keep.
  std::vector<int> attention_heads;

  /// Throws UsageError naming the first option that is out of range.
  void check() const;
  int max_length(int source_length) const;
  int min_length_for(int source_length) const;
};

/// What holds for one sentence.
struct Constraints {
  /// The output begins with these tokens, whatever their probability and the other rules …
  std::vector<int> prefix;
  /// … and goes on with one of these; with any when there are none. The end token is one of these
  /// or not like any other; when all have probability zero, the first is taken.
  std::vector<int> after_prefix;
  /// The output contains these. Not with sampling.
  RequiredPhrases required;
};

}  // namespace filigree::translate
