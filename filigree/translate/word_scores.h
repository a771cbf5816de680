// Log-probabilities of words, from those of their pieces.
#pragma once

#include <vector>

#include "filigree/translate/translation.h"

namespace filigree::translate {

/// Σ log p of the pieces of every word of the output (text::words_of()) and, last, of its end; they
/// add up to its log-probability. A piece that spans several words counts for the first of them,
/// one behind the last word for the end.
std::vector<double> word_scores(const Output& output);

}  // namespace filigree::translate
