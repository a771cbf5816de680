// What a model says about a whole test set: cross-entropy and perplexity.
#pragma once

#include <cstdint>
#include <string>

#include "filigree/translate/translation.h"

namespace filigree::translate {

class ScoreSummary {
 public:
  /// vocabulary: pieces of the target side, for ε-perplexity.
  explicit ScoreSummary(int vocabulary) : vocabulary_(vocabulary) {}

  /// Adds a pair as Scorer::score() gives it.
  void add(const Translation& translation);

  /// −Σ log p / count, in nats: of every piece and every end; of every word and every end.
  double cross_entropy() const { return -log_probability_ / static_cast<double>(pieces_); }
  double cross_entropy_of_words() const { return -log_probability_ / static_cast<double>(words_); }
  /// exp of the cross-entropy of (p + ε) / (1 + εV), which is finite where p is zero; see
  /// model::kEpsilonMass.
  double epsilon_perplexity() const;

  /// Lines "name  value". with_zeros: for a model whose probabilities can be zero.
  std::string text(bool with_zeros) const;
  /// The same as a JSON object; infinite values are null.
  std::string json(bool with_zeros) const;

 private:
  int vocabulary_;
  int64_t pairs_ = 0, pieces_ = 0, words_ = 0, impossible_ = 0;
  double log_probability_ = 0, epsilon_log_likelihood_ = 0;
};

}  // namespace filigree::translate
