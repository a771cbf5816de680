// Translating text of any size, line by line, in bounded memory.
#pragma once

#include <functional>
#include <istream>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "filigree/translate/output_format.h"
#include "filigree/translate/translator.h"

namespace filigree::translate {

/// The next line without its '\n', or nothing at the end.
using NextLine = std::function<std::optional<std::string>()>;

struct StreamOptions {
  OutputFormat format;    ///< what is written about every line
  bool progress = false;  ///< a progress line where standard error is a terminal
  std::string input_name = "standard input";  ///< for messages
  /// Sees every translation before it is written; may be null.
  std::function<void(const Translation&)> observe;
  /// The constraints of the next line; none when null.
  std::function<LineConstraints()> next_constraints;
};

/// Takes whole lines of translations, as soon as they are found.
using WriteText = std::function<void(std::string_view)>;

/// Translates every line and writes its translation as one line (or several), in order. Returns the
/// number of lines. Throws as Translator::translate() does; what came before the error is written.
int64_t translate_stream(const Translator& translator, const NextLine& next_line,
                         const WriteText& write, const StreamOptions& options = {});
/// The same between streams. A byte order mark and the '\r' of DOS line ends are dropped; `out` is
/// flushed after every line. Throws Error also when `out` fails.
int64_t translate_stream(const Translator& translator, std::istream& in, std::ostream& out,
                         const StreamOptions& options = {});

}  // namespace filigree::translate
