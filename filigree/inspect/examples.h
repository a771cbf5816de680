// The sentences in which a head shows a measure most and least.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "filigree/inspect/statistics.h"

namespace filigree::inspect {

struct Example {
  double value;
  int64_t line;  ///< of the text, from 1
};

struct ExamplePair {
  std::optional<Example> best, worst;
};

class Examples {
 public:
  /// Considers a sentence of readable length: 6 to 40 queries. Earlier ones win ties.
  void consider(const Statistics& sentence, int64_t line);
  ExamplePair of(AttentionBlock block, size_t layer, size_t head, Measure measure) const;

 private:
  /// By block, [layer][head].
  std::array<std::vector<std::vector<std::array<ExamplePair, kMeasureCount>>>, 3> pairs_;
};

}  // namespace filigree::inspect
