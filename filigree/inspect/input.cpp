#include "filigree/inspect/input.h"

#include "filigree/base/error.h"

namespace filigree::inspect {
namespace {

// The line beside a source line; both files must end together.
std::optional<std::string> beside(std::optional<text::TextReader>& reader, bool more, int64_t line,
                                  const std::filesystem::path& source) {
  if (!reader) return std::nullopt;
  std::optional<std::string> text = reader->next();
  if (text.has_value() != more) {
    throw Error("{} has {} lines than {}; a line belongs to each line", reader->path().string(),
                more ? "fewer" : "more", source.string());
  }
  return text;
}

}  // namespace

InputReader::InputReader(const InputFiles& files) : source_(files.source), files_(files) {
  if (files.alignments && !files.target) {
    throw UsageError("--alignments needs the translations that it aligns: give TGT too");
  }
  if (files.target) target_.emplace(*files.target);
  if (files.alignments) alignments_.emplace(*files.alignments);
  if (files.conllu) conllu_.emplace(*files.conllu);
}

std::optional<InputSentence> InputReader::next() {
  std::optional<std::string> source = source_.next();
  const int64_t line = source_.line_number();
  std::optional<std::string> target = beside(target_, source.has_value(), line, files_.source);
  const std::optional<std::string> alignment =
      beside(alignments_, source.has_value(), line, files_.source);
  if (!source) {
    if (conllu_ && conllu_->next()) {
      throw Error("{} has more sentences than {} has lines", files_.conllu->string(),
                  files_.source.string());
    }
    return std::nullopt;
  }
  InputSentence sentence{line, std::move(*source), std::move(target), {}, {}, {}};
  if (alignment) sentence.alignment = parse_alignment(*alignment, *files_.alignments, line);
  const bool blank = sentence.source.find_first_not_of(" \t") == std::string::npos;
  if (conllu_ && !blank) {
    sentence.parse = conllu_->next();
    if (!sentence.parse) {
      throw Error("{} ends before line {} of {}", files_.conllu->string(), line,
                  files_.source.string());
    }
  }
  return sentence;
}

}  // namespace filigree::inspect
