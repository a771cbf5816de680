// Beam search for one sentence.
#pragma once

#include <vector>

#include "filigree/translate/candidate_banks.h"
#include "filigree/translate/sentence_search.h"

namespace filigree::translate {

/// See search.h.
class SentenceBeam : public SentenceSearch {
 public:
  using SentenceSearch::SentenceSearch;

  int reserved_rows() const override;
  std::vector<Hypothesis> take_results() override;

 private:
  std::vector<Continued> advance(StepScores& scores) override;
  /// Offers what may follow a live hypothesis.
  void offer_continuations(int i, StepScores& scores, CandidateBanks& banks) const;
  bool nothing_can_win(const std::vector<Continued>& next) const;

  std::vector<Hypothesis> finished_, stranded_;
};

}  // namespace filigree::translate
