// A translation of a line with all that is known about it, made by the search or given.
#pragma once

#include <string>
#include <vector>

#include "filigree/evaluate/links.h"
#include "filigree/text/words.h"
#include "filigree/translate/attention_row.h"

namespace filigree::translate {

/// One translation of a line.
struct Output {
  std::string text;
  std::vector<std::string> pieces;  ///< subwords, as SentencePiece writes them
  /// log p of every piece, then of the end; of a line that was split, of the end of every part.
  std::vector<float> token_log_probabilities;
  double log_probability = 0;       ///< their sum
  double score = 0;                 ///< see SearchOptions::length_penalty
  double penalties = 0;             ///< see Hypothesis::penalties
  double coverage = 0;              ///< what the coverage penalty adds to the score
  std::vector<text::Range> places;  ///< the bytes of `text` that every piece stands for
  /// Which pieces of the source, by position, every piece is linked with; where asked for.
  evaluate::Links piece_links;
  AttentionRows attention;  ///< beside token_log_probabilities; where asked for
};

/// The line that was translated.
struct Source {
  std::string text;
  std::vector<std::string> pieces;
  std::vector<text::Range> places;
};

/// The n-best translations of a line, best first and never none.
struct Translation {
  std::vector<Output> n_best;
  Source source;  ///< where alignments or attention are asked for
  const std::string& text() const { return n_best.front().text; }
};

}  // namespace filigree::translate
