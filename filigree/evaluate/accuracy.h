// The share of outputs that are right to the letter, for tasks with one right answer.
#pragma once

#include "filigree/evaluate/metric.h"

namespace filigree::evaluate {

/// The share, 0 … 1, of hypotheses equal to their reference byte for byte. Throws Error naming the
/// counts when the numbers of segments differ or are 0.
double exact_match_accuracy(const Segments& hypotheses, const Segments& references);

}  // namespace filigree::evaluate
