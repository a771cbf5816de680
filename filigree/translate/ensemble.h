// Several models as one.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "filigree/translate/step_function.h"

namespace filigree::translate {

/// The mean of its members' probabilities (not of their logarithms, so that what is impossible for
/// one may be likely for another), and of their attention weights: those over the heads of the last
/// layer, as one head. Members must have the same vocabulary and the same sources.
class Ensemble : public StepFunction {
 public:
  explicit Ensemble(std::vector<std::unique_ptr<StepFunction>> members);

  TargetVocabulary vocabulary() const override;
  void add(int sentence, std::span<const int> source) override;
  void step(std::span<const SearchRow> rows, StepScores& scores) override;
  void release(int sentence) override;

 private:
  /// log Σ p over the members, with the logarithm of their number as the normaliser.
  void average_row(int row, StepScores& scores);
  void average_attention(StepScores& scores);

  std::vector<std::unique_ptr<StepFunction>> members_;
  std::vector<StepScores> scores_;  ///< by member
  std::vector<std::vector<float>> attention_;
};

}  // namespace filigree::translate
