#include "filigree/translate/output_format.h"

#include <fmt/format.h>

#include "filigree/translate/alignment.h"
#include "filigree/translate/json.h"
#include "filigree/translate/word_scores.h"

namespace filigree::translate {
namespace {

std::string plain(const Translation& translation, const OutputFormat& format) {
  const Output& output = translation.n_best.front();
  std::string line = output.text;
  if (format.alignment != AlignmentUnit::kNone) {
    line += " ||| " + format_alignment(translation.source, output, format.alignment);
  }
  if (format.word_scores) line += " ||| " + format_word_scores(output);
  return line + '\n';
}

std::string n_best_list(int64_t id, const Translation& translation, const OutputFormat& format) {
  std::string lines;
  for (const Output& output : translation.n_best) {
    lines += fmt::format("{} ||| {} ||| F0= {:.6f}", id, output.text, output.log_probability);
    if (format.word_scores) lines += ' ' + format_word_scores(output);
    lines += fmt::format(" ||| {:.6f}", output.score);
    if (format.alignment != AlignmentUnit::kNone) {
      lines += " ||| " + format_alignment(translation.source, output, format.alignment);
    }
    lines += '\n';
  }
  return lines;
}

}  // namespace

std::string format_alignment(const Source& source, const Output& output, AlignmentUnit unit) {
  return evaluate::format_links(unit == AlignmentUnit::kPiece ? output.piece_links
                                                              : word_links(source, output));
}

std::string format_word_scores(const Output& output) {
  std::string text = "WordScores=";
  for (const double score : word_scores(output)) text += fmt::format(" {:.6f}", score);
  return text;
}

std::string format_translation(int64_t id, const Translation& translation,
                               const OutputFormat& format) {
  if (format.json) {
    return to_json(translation, {.n_best = format.n_best, .heads = format.heads}) + '\n';
  }
  return format.n_best ? n_best_list(id, translation, format) : plain(translation, format);
}

}  // namespace filigree::translate
