#include "filigree/translate/stream.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

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
  const auto next = [&]() -> std::optional<SourceLine> {
    std::optional<std::string> line = next_line();
    if (!line) return std::nullopt;
    return SourceLine{std::move(*line),
                      options.next_constraints ? options.next_constraints() : LineConstraints()};
  };
  const auto deliver = [&](const Translation& translation) {
    if (progress) progress->clear();
    if (options.observe) options.observe(translation);
    write(format_translation(done, translation, options.format));
    ++done;
    if (progress) progress->update(done, fmt::format("{} lines", done));
  };
  translator.translate_each(next, deliver, {options.input_name, 1});
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
