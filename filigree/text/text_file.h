// Text files that are checked while they are read: UTF-8, no NUL bytes, one sentence a line.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filigree/base/files.h"

namespace filigree::text {

/// What to do with a line that is not UTF-8 or contains a NUL byte.
enum class BadLines {
  kError,  ///< throw Error naming the file and the line
  kDrop,   ///< count it and leave it out
  kKeep,   ///< take it as it is
};

/// What is wrong with a line.
enum class LineFault { kNone, kInvalidUtf8, kNulByte };

/// Checks one line.
LineFault check_line(std::string_view line);

/// A LineReader for text: removes the '\r' of a DOS line end and the byte order mark at the start
/// of the file, and checks every line.
class TextReader {
 public:
  /// Throws Error when the file is missing or not readable.
  explicit TextReader(std::filesystem::path path, BadLines bad_lines = BadLines::kError);

  /// The next line, or nothing at the end. With BadLines::kError a bad line throws Error; else it
  /// is returned too, and fault() tells so.
  std::optional<std::string> next();

  /// What is wrong with the line that next() returned.
  LineFault fault() const { return fault_; }
  /// The 1-based number of the line that next() returned.
  int64_t line_number() const { return reader_.line_number(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  BadLines bad_lines_;
  LineReader reader_;
  LineFault fault_ = LineFault::kNone;
};

/// All lines of a text file, such as the references of a validation set; empty ones are kept.
/// Throws Error on a bad line.
std::vector<std::string> read_text(const std::filesystem::path& path);

}  // namespace filigree::text
