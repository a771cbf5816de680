// Which tokens may follow a hypothesis, whatever their probability.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "filigree/translate/search_options.h"
#include "filigree/translate/step_function.h"

namespace filigree::translate {

/// The rules for the outputs of one sentence: lengths, suppressed tokens, banned phrases, repeated
/// n-grams, a forced prefix, and that no output ends before the required phrases are met. They look
/// at a hypothesis' tokens alone.
class TokenRules {
 public:
  /// `options` and `vocabulary` must outlive the object. Required phrases that the longest output
  /// has no room for are dropped: required() is empty then.
  TokenRules(const SearchOptions& options, const TargetVocabulary& vocabulary, int source_length,
             Constraints constraints);

  struct Next {
    std::vector<int> forbidden;
    /// When given, nothing but these may follow; `forbidden` does not matter then.
    std::optional<std::vector<int>> only;
    /// When all of `only` have probability zero, its first follows nevertheless.
    bool even_if_impossible = false;
  };
  /// What may follow `tokens`.
  Next next(std::span<const int> tokens) const;

  /// Of an output without the end token: at least that of the prefix.
  int max_length() const { return max_length_; }
  int min_length() const { return min_length_; }
  const RequiredPhrases& required() const { return constraints_.required; }
  /// Whether `tokens` contain the required phrases; not when they were dropped.
  bool has_required(std::span<const int> tokens) const;

 private:
  std::vector<int> forbidden(std::span<const int> tokens) const;

  const SearchOptions* options_;
  const TargetVocabulary* vocabulary_;
  Constraints constraints_;
  int max_length_, min_length_;
  bool dropped_ = false;
};

}  // namespace filigree::translate
