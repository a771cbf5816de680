// Sentence pairs from files: two files side by side, or one with a tab between the two.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "filigree/text/text_file.h"
#include "filigree/text/tokenizer.h"

namespace filigree::text {

/// Where sentence pairs come from. Files may be compressed with gzip.
struct CorpusSource {
  std::filesystem::path source =
      {};  ///< one sentence a line; with `tsv`, "source<TAB>target" lines
  std::filesystem::path target = {};  ///< the translations, line by line; empty with `tsv`
  bool tsv = false;
  double weight = 1;  ///< how often a pair occurs in an epoch, on average; below 1 is a sample

  /// The files' names, for reports and errors.
  std::string name() const;
};

/// A sentence and its translation.
struct SentencePair {
  std::string source, target;
  bool operator==(const SentencePair&) const = default;
};

/// Reads the pairs of one source in order.
class PairReader {
 public:
  /// Throws Error when a file is missing or empty.
  explicit PairReader(const CorpusSource& source, BadLines bad_lines = BadLines::kError);

  /// The next pair, or nothing at the end. Throws Error when one file ends before the other, when a
  /// TSV line has not exactly two fields and, with BadLines::kError, on a bad line.
  std::optional<SentencePair> next();

  /// What is wrong with the pair that next() returned, see TextReader.
  LineFault fault() const { return fault_; }
  /// The 1-based number of the pair that next() returned.
  int64_t line_number() const { return source_.line_number(); }

 private:
  std::optional<SentencePair> next_side_by_side();
  std::optional<SentencePair> next_tab_separated();
  [[noreturn]] void refuse_unequal_lengths(TextReader& longer, const TextReader& shorter);

  TextReader source_;
  std::optional<TextReader> target_;
  LineFault fault_ = LineFault::kNone;
};

/// All pairs of a validation or test set, empty ones included. Throws Error as PairReader does.
std::vector<SentencePair> read_pairs(const CorpusSource& source);

/// Which side of the pairs.
enum class Side { kSource, kTarget, kBoth };

/// The lines of one side, or of both, of several corpora: what a tokenizer is trained on. Bad lines
/// are errors or are left out.
LineSource corpus_lines(std::vector<CorpusSource> sources, Side side,
                        BadLines bad_lines = BadLines::kError);

}  // namespace filigree::text
