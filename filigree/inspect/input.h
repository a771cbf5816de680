// The text to inspect: source lines with what belongs to them, read in step.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "filigree/inspect/conllu.h"
#include "filigree/inspect/word_alignment.h"
#include "filigree/text/text_file.h"

namespace filigree::inspect {

struct InputFiles {
  std::filesystem::path source;
  std::optional<std::filesystem::path> target;      ///< translations; else the model makes them
  std::optional<std::filesystem::path> alignments;  ///< Pharaoh's format; needs a target
  std::optional<std::filesystem::path> conllu;      ///< parses of the source
};

/// A sentence pair that is cut into pieces already, as SentencePiece writes them.
struct PiecePair {
  std::vector<std::string> source, target;
};

struct InputSentence {
  int64_t line;  ///< from 1
  std::string source;
  std::optional<std::string> target;
  std::optional<WordAlignment> alignment;
  std::optional<Parse> parse;
  std::optional<PiecePair> pieces;  ///< stand for the texts
};

/// Gives one sentence after the other, and nothing at the end.
using NextSentence = std::function<std::optional<InputSentence>()>;

class InputReader {
 public:
  /// Throws Error on a file that cannot be read, UsageError on alignments without a target.
  explicit InputReader(const InputFiles& files);
  /// The next line, or nothing at the end. Throws Error naming the file that ends early, or file
  /// and line of what cannot be read.
  std::optional<InputSentence> next();

 private:
  text::TextReader source_;
  std::optional<text::TextReader> target_, alignments_;
  std::optional<ConlluReader> conllu_;
  InputFiles files_;
};

}  // namespace filigree::inspect
