// A translation as one line of JSON.
#pragma once

#include <string>

#include "filigree/translate/translation.h"

namespace filigree::translate {

struct JsonOptions {
  bool n_best = false;  ///< all outputs, in a list "n_best", instead of the best
  int heads = 1;        ///< of a layer
};

/// An object without line breaks, described in docs/alignments.md. Places are [begin, end) in
/// Unicode code points. A probability of zero has the logarithm null.
std::string to_json(const Translation& translation, const JsonOptions& options);

}  // namespace filigree::translate
