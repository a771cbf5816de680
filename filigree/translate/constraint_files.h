// Constraints of translations from files that go along with the input, line by line.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "filigree/text/text_file.h"
#include "filigree/translate/translator.h"

namespace filigree::translate {

class ConstraintFiles {
 public:
  /// prefixes: line n holds the target prefix of input line n, which may be empty. required: line n
  /// holds its required phrases, separated by tabs. Throws Error when a file cannot be read.
  ConstraintFiles(const std::optional<std::filesystem::path>& prefixes,
                  const std::optional<std::filesystem::path>& required);

  /// Whether there is any file.
  bool any() const { return prefixes_ || required_; }
  /// The constraints of the next line. Throws Error naming a file that has no more lines.
  LineConstraints next();
  /// Throws Error naming a file that has more lines than next() has read.
  void check_end();

 private:
  std::optional<text::TextReader> prefixes_, required_;
};

}  // namespace filigree::translate
