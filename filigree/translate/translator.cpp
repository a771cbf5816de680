#include "filigree/translate/translator.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "filigree/base/error.h"
#include "filigree/model/model_directory.h"
#include "filigree/text/text_file.h"
#include "filigree/text/utf8.h"
#include "filigree/translate/generation_config.h"
#include "filigree/translate/split_line.h"
#include "filigree/translate/translate_ids.h"

namespace filigree::translate {
namespace {

/// A line, or a part of one that was too long.
struct Segment {
  size_t line;
  std::vector<int> ids;
};

void check_text(const std::string& line, const LineOrigin& origin, int64_t number) {
  const text::LineFault fault = text::check_line(line);
  if (fault == text::LineFault::kNulByte) {
    throw Error("{}:{}: contains a NUL byte; is this text?", origin.name, number);
  }
  if (fault == text::LineFault::kInvalidUtf8) {
    throw Error("{}:{}: byte {} is not valid UTF-8; convert the text to UTF-8", origin.name, number,
                *text::find_invalid_utf8(line) + 1);
  }
}

/// A model with byte fallback can write line ends; one line must stay one line.
std::string on_one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

Output to_output(const text::Tokenizer& tokenizer, Hypothesis hypothesis) {
  Output output;
  output.text = on_one_line(tokenizer.decode(hypothesis.tokens));
  for (const int id : hypothesis.tokens) output.pieces.push_back(tokenizer.piece(id));
  output.token_log_probabilities = std::move(hypothesis.token_log_probabilities);
  output.log_probability = hypothesis.log_probability;
  output.score = hypothesis.score;
  return output;
}

Output join(const std::vector<Output>& parts, double length_penalty) {
  Output joined;
  std::vector<std::string> texts;
  for (const Output& part : parts) {
    texts.push_back(part.text);
    joined.pieces.insert(joined.pieces.end(), part.pieces.begin(), part.pieces.end());
    joined.token_log_probabilities.insert(joined.token_log_probabilities.end(),
                                          part.token_log_probabilities.begin(),
                                          part.token_log_probabilities.end());
    joined.log_probability += part.log_probability;
  }
  joined.text = join_parts(texts);
  joined.score = normalised_score(joined.log_probability, joined.token_log_probabilities.size(),
                                  length_penalty);
  return joined;
}

/// The n-th outputs of the parts joined; a part with fewer gives its last.
Translation join(const std::vector<Translation>& parts, double length_penalty) {
  size_t count = 0;
  for (const Translation& part : parts) count = std::max(count, part.n_best.size());
  Translation joined;
  for (size_t n = 0; n < count; ++n) {
    std::vector<Output> outputs;
    for (const Translation& part : parts) {
      outputs.push_back(part.n_best[std::min(n, part.n_best.size() - 1)]);
    }
    joined.n_best.push_back(join(outputs, length_penalty));
  }
  return joined;
}

}  // namespace

struct Translator::State {
  model::Model model;
  SearchOptions search;
  int max_source_length;
  bool split_long_lines;
  BatchOptions batches;

  void append_segments(const std::string& line, size_t index, const LineOrigin& origin,
                       std::vector<Segment>& segments) const;
};

void Translator::State::append_segments(const std::string& line, size_t index,
                                        const LineOrigin& origin,
                                        std::vector<Segment>& segments) const {
  const int64_t number = origin.first_line + static_cast<int64_t>(index);
  check_text(line, origin, number);
  const text::Tokenizer& tokenizer = model.tokenizers.source;
  std::vector<int> ids = tokenizer.encode(line);
  const auto length = static_cast<int>(ids.size());
  if (length <= max_source_length) {
    segments.push_back({index, std::move(ids)});
    return;
  }
  if (!split_long_lines) {
    throw Error(
        "{}:{}: has {} pieces, more than the {} allowed; split it or raise "
        "--max-source-length",
        origin.name, number, length, max_source_length);
  }
  const auto parts = split_line(line, max_source_length, [&](std::string_view text) {
    return static_cast<int>(tokenizer.encode(text).size());
  });
  spdlog::warn("{}:{}: has {} pieces, more than {}: translated in {} parts", origin.name, number,
               length, max_source_length, parts.size());
  for (const std::string& part : parts) segments.push_back({index, tokenizer.encode(part)});
}

Translator::Translator(const std::filesystem::path& model_directory, TranslatorOptions options) {
  const GenerationConfig defaults = load_generation_config(model_directory);
  SearchOptions search = options.search.value_or(defaults.search);
  search.check();
  const int max_source_length = options.max_source_length.value_or(defaults.max_source_length);
  if (max_source_length < 1) {
    throw UsageError("max-source-length {} must be at least 1", max_source_length);
  }
  const BatchOptions batches{options.threads, options.mini_batch, options.mini_batch_words};
  batches.check();
  model::Model model = model::load_model(model_directory);
  suppress_special_tokens(search, model.tokenizers.target);
  state_ = std::make_unique<const State>(State{
      std::move(model), std::move(search), max_source_length, options.split_long_lines, batches});
}

Translator::~Translator() = default;
Translator::Translator(Translator&&) noexcept = default;

std::vector<Translation> Translator::translate(std::span<const std::string> lines,
                                               const LineOrigin& origin) const {
  std::vector<Segment> segments;
  for (size_t i = 0; i < lines.size(); ++i) state_->append_segments(lines[i], i, origin, segments);
  std::vector<std::span<const int>> sources;
  for (const Segment& segment : segments) sources.emplace_back(segment.ids);

  auto hypotheses =
      translate_ids(state_->model.transformer, sources, state_->search, state_->batches);
  std::vector<std::vector<Translation>> parts(lines.size());
  for (size_t s = 0; s < segments.size(); ++s) {
    Translation translation;
    for (Hypothesis& hypothesis : hypotheses[s]) {
      translation.n_best.push_back(
          to_output(state_->model.tokenizers.target, std::move(hypothesis)));
    }
    parts[segments[s].line].push_back(std::move(translation));
  }
  std::vector<Translation> translations;
  for (std::vector<Translation>& of_line : parts) {
    translations.push_back(of_line.size() == 1 ? std::move(of_line[0])
                                               : join(of_line, state_->search.length_penalty));
  }
  return translations;
}

const SearchOptions& Translator::search_options() const { return state_->search; }

}  // namespace filigree::translate
