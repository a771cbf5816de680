// Translations as lines of text or JSON.
#pragma once

#include <cstdint>
#include <string>

#include "filigree/translate/translation.h"

namespace filigree::translate {

enum class AlignmentUnit { kNone, kWord, kPiece };

/// What is written about every line.
struct OutputFormat {
  bool n_best = false;  ///< all outputs, as an n-best list
  AlignmentUnit alignment = AlignmentUnit::kNone;
  bool word_scores = false;
  bool json = false;  ///< to_json(), which has all of that
  int heads = 1;      ///< of a layer of the model, for JSON
};

/// The text of line `id` (from 0), ended. Plain: the best translation; then, where asked for,
/// " ||| 0-0 1-2" and " ||| WordScores= -0.1 -0.2 -0.01", as Marian does. As an n-best list in
/// Moses' form, a line per output: "id ||| text ||| F0= log-probability ||| score", with WordScores
/// among the features and " ||| 0-0 1-2" at the end.
std::string format_translation(int64_t id, const Translation& translation,
                               const OutputFormat& format);

/// The links of one output, by words or pieces, as Pharaoh writes them.
std::string format_alignment(const Source& source, const Output& output, AlignmentUnit unit);

/// "WordScores= -0.100000 -0.200000 -0.010000", see word_scores().
std::string format_word_scores(const Output& output);

}  // namespace filigree::translate
