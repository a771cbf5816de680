// What an inspection says, in plain words with the numbers behind them.
#pragma once

#include <string>
#include <vector>

#include "filigree/inspect/inspection.h"

namespace filigree::inspect {

/// How a finding stands to what the paper reports of its models.
enum class Verdict { kNone, kAsInPaper, kNotAsInPaper };
/// "", "as in the paper" or "not as in the paper".
const char* to_string(Verdict verdict);

struct Finding {
  std::string title;
  std::string text;
  Verdict verdict = Verdict::kNone;
};

/// Of the first model, and of the others beside it.
std::vector<Finding> findings(const Inspection& inspection);

}  // namespace filigree::inspect
