#include "filigree/translate/translator.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "filigree/base/error.h"
#include "filigree/base/random.h"
#include "filigree/model/model_directory.h"
#include "filigree/text/text_file.h"
#include "filigree/text/utf8.h"
#include "filigree/translate/generation_config.h"
#include "filigree/translate/spacing.h"
#include "filigree/translate/split_line.h"
#include "filigree/translate/target_text.h"
#include "filigree/translate/translate_ids.h"

namespace filigree::translate {
namespace {

/// A line, or a part of one that was too long.
struct Segment {
  size_t line;
  std::vector<int> ids;
  Constraints constraints;
  uint64_t key;  ///< see SentenceToSearch
};

/// The line as it is translated. Throws Error when it is not text and must be.
std::string checked_text(const std::string& line, bool replace_invalid, const LineOrigin& origin,
                         int64_t number) {
  const text::LineFault fault = text::check_line(line);
  if (fault == text::LineFault::kNone) return line;
  if (replace_invalid) {
    spdlog::warn("{}:{}: is not valid UTF-8: replaced what is not by U+FFFD", origin.name, number);
    return text::replace_invalid_utf8(line);
  }
  if (fault == text::LineFault::kNulByte) {
    throw Error("{}:{}: contains a NUL byte; is this text?", origin.name, number);
  }
  throw Error("{}:{}: byte {} is not valid UTF-8; convert the text to UTF-8", origin.name, number,
              *text::find_invalid_utf8(line) + 1);
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
  output.coverage = hypothesis.coverage;
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
    joined.coverage += part.coverage;
  }
  joined.text = join_parts(texts);
  joined.score =
      joined.coverage + normalised_score(joined.log_probability,
                                         joined.token_log_probabilities.size(), length_penalty);
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

void check_same_tokenizers(const model::Model& first, const std::filesystem::path& first_directory,
                           const model::Model& other, const std::filesystem::path& directory) {
  const model::ModelConfig &a = first.transformer.config(), &b = other.transformer.config();
  if (first.tokenizers.source.bytes() != other.tokenizers.source.bytes() ||
      first.tokenizers.target.bytes() != other.tokenizers.target.bytes() ||
      a.target_bos != b.target_bos || a.target_eos != b.target_eos) {
    throw Error("{}: its tokenizers differ from those of {}; an ensemble needs the same",
                directory.string(), first_directory.string());
  }
}

}  // namespace

struct Translator::State {
  std::vector<model::Model> models;
  TargetText target_text;
  SearchOptions search;
  int max_source_length;
  bool split_long_lines, replace_invalid;
  BatchOptions batches;

  const text::Tokenizer& source_tokenizer() const { return models[0].tokenizers.source; }
  const text::Tokenizer& target_tokenizer() const { return models[0].tokenizers.target; }

  Constraints to_tokens(const LineConstraints& constraints, const LineOrigin& origin,
                        int64_t number) const;
  void append_segments(const std::string& line, size_t index, Constraints constraints,
                       const LineOrigin& origin, int64_t number,
                       std::vector<Segment>& segments) const;
};

Constraints Translator::State::to_tokens(const LineConstraints& constraints,
                                         const LineOrigin& origin, int64_t number) const {
  Constraints result;
  try {
    auto [prefix, next] = target_text.prefix(constraints.prefix);
    result.prefix = std::move(prefix);
    result.after_prefix = std::move(next);
    std::vector<RequiredPhrase> required;
    for (const std::string& phrase : constraints.required) {
      required.push_back(target_text.required(phrase));
    }
    result.required = RequiredPhrases(std::move(required));
  } catch (const Error& error) {
    throw Error("{}:{}: its target prefix or required phrase {}", origin.name, number,
                error.what());
  }
  return result;
}

void Translator::State::append_segments(const std::string& line, size_t index,
                                        Constraints constraints, const LineOrigin& origin,
                                        int64_t number, std::vector<Segment>& segments) const {
  const text::Tokenizer& tokenizer = source_tokenizer();
  std::vector<int> ids = tokenizer.encode(line);
  const auto length = static_cast<int>(ids.size());
  if (length <= max_source_length) {
    segments.push_back({index, std::move(ids), std::move(constraints), combine(number, 0)});
    return;
  }
  if (!split_long_lines || !constraints.required.empty()) {
    throw Error(
        "{}:{}: has {} pieces, more than the {} allowed{}; split it or raise "
        "--max-source-length",
        origin.name, number, length, max_source_length,
        split_long_lines ? ", and required phrases" : "");
  }
  const auto parts = split_line(line, max_source_length, [&](std::string_view text) {
    return static_cast<int>(tokenizer.encode(text).size());
  });
  spdlog::warn("{}:{}: has {} pieces, more than {}: translated in {} parts", origin.name, number,
               length, max_source_length, parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    segments.push_back(
        {index, tokenizer.encode(parts[i]), std::exchange(constraints, {}), combine(number, i)});
  }
}

Translator::Translator(const std::filesystem::path& model_directory, TranslatorOptions options)
    : Translator(std::vector{model_directory}, std::move(options)) {}

Translator::Translator(const std::vector<std::filesystem::path>& model_directories,
                       TranslatorOptions options) {
  if (model_directories.empty()) throw UsageError("a translator needs a model");
  const GenerationConfig defaults = load_generation_config(model_directories[0]);
  SearchOptions search = options.search.value_or(defaults.search);
  search.check();
  const int max_source_length = options.max_source_length.value_or(defaults.max_source_length);
  if (max_source_length < 1) {
    throw UsageError("max-source-length {} must be at least 1", max_source_length);
  }
  const BatchOptions batches{options.threads, options.mini_batch, options.mini_batch_words};
  batches.check();
  std::vector<model::Model> models;
  for (const std::filesystem::path& directory : model_directories) {
    models.push_back(model::load_model(directory));
    check_same_tokenizers(models[0], model_directories[0], models.back(), directory);
  }
  suppress_special_tokens(search, models[0].tokenizers.target);
  TargetText target_text(models[0].tokenizers.target);
  if (!options.banned_phrases.empty()) {
    search.banned = std::make_shared<const PhraseGraph>(target_text.banned(options.banned_phrases));
  }
  state_ = std::make_unique<const State>(
      State{std::move(models), std::move(target_text), std::move(search), max_source_length,
            options.split_long_lines, options.replace_invalid, batches});
}

Translator::~Translator() = default;
Translator::Translator(Translator&&) noexcept = default;

std::vector<Translation> Translator::translate(std::span<const std::string> lines,
                                               const LineOrigin& origin,
                                               std::span<const LineConstraints> constraints) const {
  std::vector<Segment> segments;
  std::vector<std::string> blanks;
  for (size_t i = 0; i < lines.size(); ++i) {
    const int64_t number = origin.first_line + static_cast<int64_t>(i);
    const std::string line = checked_text(lines[i], state_->replace_invalid, origin, number);
    blanks.emplace_back(leading_blanks(line));
    Constraints of_line;
    if (!constraints.empty()) of_line = state_->to_tokens(constraints[i], origin, number);
    state_->append_segments(line, i, std::move(of_line), origin, number, segments);
  }

  std::vector<const model::Transformer*> models;
  for (const model::Model& model : state_->models) models.push_back(&model.transformer);
  std::vector<SourceSentence> sentences;
  for (Segment& segment : segments) {
    sentences.push_back({segment.ids, std::move(segment.constraints), segment.key});
  }
  auto hypotheses = translate_ids(models, std::move(sentences), state_->search, state_->batches);
  std::vector<std::vector<Translation>> parts(lines.size());
  for (size_t s = 0; s < segments.size(); ++s) {
    if (!hypotheses[s].front().has_required) {
      spdlog::warn(
          "{}:{}: not all required phrases are in its translation: they need more pieces than the "
          "longest output has, or another rule forbids them",
          origin.name, origin.first_line + static_cast<int64_t>(segments[s].line));
    }
    Translation translation;
    for (Hypothesis& hypothesis : hypotheses[s]) {
      translation.n_best.push_back(to_output(state_->target_tokenizer(), std::move(hypothesis)));
    }
    parts[segments[s].line].push_back(std::move(translation));
  }
  std::vector<Translation> translations;
  for (size_t i = 0; i < parts.size(); ++i) {
    translations.push_back(parts[i].size() == 1 ? std::move(parts[i][0])
                                                : join(parts[i], state_->search.length_penalty));
    for (Output& output : translations.back().n_best) output.text.insert(0, blanks[i]);
  }
  return translations;
}

const SearchOptions& Translator::search_options() const { return state_->search; }

}  // namespace filigree::translate
