// Phrases that an output has to contain.
#pragma once

#include <span>
#include <utility>
#include <vector>

namespace filigree::translate {

/// A phrase in the ways in which it may be written, each a sequence of tokens; never empty.
using RequiredPhrase = std::vector<std::vector<int>>;

/// How far a sequence of tokens is with some phrases. A phrase is met once the sequence contains
/// one of its ways as consecutive tokens; phrases may overlap, so that one token can serve several.
class RequiredPhrases {
 public:
  RequiredPhrases() = default;
  explicit RequiredPhrases(std::vector<RequiredPhrase> phrases);

  bool empty() const { return shortest_.empty(); }

  struct Progress {
    std::vector<bool> met;  ///< by phrase
    /// Ways of unmet phrases that the sequence's end begins: (way, its tokens so far).
    std::vector<std::pair<int, int>> begun;
  };
  Progress progress(std::span<const int> tokens) const;
  Progress after(const Progress& progress, int token) const;

  /// So many more tokens are enough to meet all phrases: finish the begun one that saves most, then
  /// write the others in full. 0 when all are met. next_tokens() holds one that makes it fewer.
  int tokens_needed(const Progress& progress) const;
  /// tokens_needed() after any token that is not among next_tokens().
  int tokens_needed_from_scratch(const Progress& progress) const;
  /// The tokens that begin or continue an unmet phrase, in ascending order.
  std::vector<int> next_tokens(const Progress& progress) const;

 private:
  struct Way {
    int phrase;
    std::vector<int> tokens;
  };
  std::vector<Way> ways_;
  std::vector<int> shortest_;  ///< tokens of the shortest way, by phrase
};

}  // namespace filigree::translate
