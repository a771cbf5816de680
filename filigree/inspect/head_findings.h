// Findings about the head that does something best.
#pragma once

#include <string>
#include <vector>

#include "filigree/inspect/findings.h"

namespace filigree::inspect {

/// A head and the value that it is named for.
struct Best {
  AttentionBlock block = AttentionBlock::kEncoder;
  size_t layer = 0, head = 0;
  double value = -1;

  /// "encoder layer 2, head 3": counted from 1.
  std::string name() const;
  /// The same at the start of a sentence.
  std::string capital_name() const;
};

/// Positions, word pieces, questions, syntax and alignments, as far as they were counted.
void add_head_findings(std::vector<Finding>& all, const Inspection& inspection,
                       const ModelInspection& model);

}  // namespace filigree::inspect
