#include "filigree/translate/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "filigree/base/error.h"
#include "filigree/base/progress.h"

namespace filigree::translate {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

int64_t translate_stream(const Translator& translator, const NextLine& next_line,
                         const WriteText& write, const StreamOptions& options) {
  std::optional<ProgressBar> progress;
  if (options.progress) progress.emplace(0);
  int64_t done = 0;
  for (bool more = true; more;) {
    std::vector<std::string> lines;
    std::vector<LineConstraints> constraints;
    while (more && static_cast<int>(lines.size()) < std::max(options.chunk_lines, 1)) {
      std::optional<std::string> line = next_line();
      more = line.has_value();
      if (!more) break;
      lines.push_back(std::move(*line));
      if (options.next_constraints) constraints.push_back(options.next_constraints());
    }
    std::string text;
    const LineOrigin origin{options.input_name, done + 1};
    for (const Translation& translation : translator.translate(lines, origin, constraints)) {
      text += format_translation(done++, translation, options.format);
    }
    if (progress) progress->clear();
    write(text);
    if (progress) progress->update(done, fmt::format("{} lines", done));
  }
  return done;
}

int64_t translate_stream(const Translator& translator, std::istream& in, std::ostream& out,
                         const StreamOptions& options) {
  bool first = true;
  const auto next_line = [&]() -> std::optional<std::string> {
    std::string line;
    if (!std::getline(in, line)) return std::nullopt;
    if (first && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
    first = false;
    if (line.ends_with('\r')) line.pop_back();
    return line;
  };
  const auto write = [&](std::string_view text) {
    out << text;
    if (!out.flush()) throw Error("cannot write the translations: {}", system_message());
  };
  return translate_stream(translator, next_line, write, options);
}

}  // namespace filigree::translate
