// Independent samples of one sentence's outputs.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "filigree/translate/sentence_search.h"

namespace filigree::translate {

/// Draws n_best outputs token by token. A draw is a function of `key`, the number of the sample and
/// the position alone.
class SentenceSamples : public SentenceSearch {
 public:
  SentenceSamples(TokenRules rules, int source_length, const SearchOptions& options,
                  const TargetVocabulary& vocabulary, uint64_t key);

  int reserved_rows() const override;
  /// In the order of their numbers.
  std::vector<Hypothesis> take_results() override { return std::move(results_); }

 private:
  std::vector<Continued> advance(StepScores& scores) override;
  int draw(int live, int sample, StepScores& scores) const;

  uint64_t key_;
  std::vector<Hypothesis> results_;  ///< by sample
  std::vector<int> unfinished_;      ///< samples; before the first step all share one beginning
};

}  // namespace filigree::translate
