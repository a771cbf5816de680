#include "filigree/text/text_file.h"

#include <utility>

#include "filigree/base/error.h"
#include "filigree/text/utf8.h"

namespace filigree::text {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

LineFault check_line(std::string_view line) {
  if (line.find('\0') != std::string_view::npos) return LineFault::kNulByte;
  if (find_invalid_utf8(line)) return LineFault::kInvalidUtf8;
  return LineFault::kNone;
}

TextReader::TextReader(std::filesystem::path path, BadLines bad_lines)
    : path_(path == "-" ? "standard input" : path), bad_lines_(bad_lines), reader_(path) {}

std::optional<std::string> TextReader::next() {
  std::optional<std::string> line = reader_.next();
  if (!line) return line;
  if (line_number() == 1 && line->starts_with(kByteOrderMark))
    line->erase(0, kByteOrderMark.size());
  if (line->ends_with('\r')) line->pop_back();
  fault_ = check_line(*line);
  if (fault_ == LineFault::kNone || bad_lines_ != BadLines::kError) return line;
  if (fault_ == LineFault::kNulByte) {
    throw Error("{}:{}: contains a NUL byte; is this a text file?", path_.string(), line_number());
  }
  throw Error("{}:{}: byte {} is not valid UTF-8; convert the file to UTF-8", path_.string(),
              line_number(), *find_invalid_utf8(*line) + 1);
}

std::vector<std::string> read_text(const std::filesystem::path& path) {
  TextReader reader(path);
  std::vector<std::string> lines;
  while (auto line = reader.next()) lines.push_back(std::move(*line));
  return lines;
}

}  // namespace filigree::text
