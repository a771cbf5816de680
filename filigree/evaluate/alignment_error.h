// Alignment error rate: how far word alignments are from gold ones.
//
// With the links A that were found, and of the gold alignment those that are sure, S, and those
// that are possible, P ⊇ S (Och and Ney, 2003, "A Systematic Comparison of Various Statistical
// Alignment Models"): precision = |A ∩ P| / |A|, recall = |A ∩ S| / |S|,
// AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|).
#pragma once

#include "filigree/evaluate/links.h"
#include "filigree/evaluate/metric.h"

namespace filigree::evaluate {

struct AlignmentCounts {
  int64_t sure_found = 0, possible_found = 0, found = 0, sure = 0;

  /// Adds those of one sentence.
  void add(const Links& links, const GoldLinks& gold);
  /// 0 … 1. Without anything to find or found, precision and recall are 1 and the error rate is 0.
  double precision() const;
  double recall() const;
  double error_rate() const;
};

/// As a metric of lines of links, see links.h. The score is a rate of errors, so less is better.
class AlignmentErrorRate : public Metric {
 public:
  /// first: what the gold alignment counts words from, 0 or 1.
  explicit AlignmentErrorRate(int first = 0) : first_(first) {}

  std::string name() const override { return "AER"; }
  /// Throws Error on a line that is not one of links, and on several references.
  std::vector<int64_t> count(std::string_view hypothesis,
                             std::span<const std::string_view> references) const override;
  double score(std::span<const int64_t> counts) const override;
  std::string details(std::span<const int64_t> counts) const override;
  Fields settings() const override;

 private:
  int first_;
};

}  // namespace filigree::evaluate
