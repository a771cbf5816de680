#include "filigree/translate/translator.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "filigree/base/error.h"
#include "filigree/base/random.h"
#include "filigree/model/model_directory.h"
#include "filigree/text/text_file.h"
#include "filigree/text/utf8.h"
#include "filigree/translate/alignment.h"
#include "filigree/translate/generation_config.h"
#include "filigree/translate/joined_translation.h"
#include "filigree/translate/spacing.h"
#include "filigree/translate/split_line.h"
#include "filigree/translate/target_text.h"
#include "filigree/translate/translate_ids.h"

namespace filigree::translate {
namespace {

/// A line, or a part of one that was too long.
struct Segment {
  size_t line;
  text::PlacedPieces pieces;  ///< places only where they are needed
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
  text::PlacedPieces pieces = tokenizer.decode_with_places(hypothesis.tokens);
  Output output;
  output.text = on_one_line(std::move(pieces.text));
  output.places = std::move(pieces.places);
  for (const int id : hypothesis.tokens) output.pieces.push_back(tokenizer.piece(id));
  output.token_log_probabilities = std::move(hypothesis.token_log_probabilities);
  output.log_probability = hypothesis.log_probability;
  output.coverage = hypothesis.coverage;
  output.score = hypothesis.score;
  output.attention = std::move(hypothesis.attention);
  return output;
}

/// Adds blanks before the first piece.
void put_in_front(const std::string& blanks, Output& output) {
  output.text.insert(0, blanks);
  for (text::Range& place : output.places) {
    place = {place.begin + blanks.size(), place.end + blanks.size()};
  }
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

/// An ensemble has one head, the mean over the last layers of its members.
AlignmentRule rule_for(const std::vector<model::Model>& models, const GenerationConfig& defaults) {
  if (models.size() == 1) return alignment_rule(models[0].transformer.config(), defaults);
  AlignmentRule rule{.heads = {0}};
  for (const model::Model& model : models) {
    rule.argmax |= alignment_rule(model.transformer.config(), {}).argmax;
  }
  return rule;
}

std::vector<int> all_heads(const std::vector<model::Model>& models) {
  const model::ModelConfig& config = models[0].transformer.config();
  std::vector<int> heads(models.size() == 1 ? config.decoder_layers * config.heads : 1);
  std::iota(heads.begin(), heads.end(), 0);
  return heads;
}

}  // namespace

struct Translator::State {
  std::vector<model::Model> models;
  TargetText target_text;
  SearchOptions search;
  int max_source_length;
  bool split_long_lines, replace_invalid;
  BatchOptions batches;
  AlignmentRule alignment;  ///< without heads where none is asked for
  bool keep_attention;

  const text::Tokenizer& source_tokenizer() const { return models[0].tokenizers.source; }
  const text::Tokenizer& target_tokenizer() const { return models[0].tokenizers.target; }

  Constraints to_tokens(const LineConstraints& constraints, const LineOrigin& origin,
                        int64_t number) const;
  void append_segments(const std::string& line, size_t index, Constraints constraints,
                       const LineOrigin& origin, int64_t number,
                       std::vector<Segment>& segments) const;
  text::PlacedPieces encode(const std::string& text) const;
  Translation to_translation(const text::PlacedPieces& source,
                             std::vector<Hypothesis> hypotheses) const;
};

text::PlacedPieces Translator::State::encode(const std::string& text) const {
  if (alignment.heads.empty()) return {text, source_tokenizer().encode(text), {}};
  return source_tokenizer().encode_with_places(text);
}

Translation Translator::State::to_translation(const text::PlacedPieces& source,
                                              std::vector<Hypothesis> hypotheses) const {
  Translation translation;
  translation.source.text = source.text;
  if (!alignment.heads.empty()) {
    translation.source.places = source.places;
    for (const int id : source.ids) {
      translation.source.pieces.push_back(source_tokenizer().piece(id));
    }
  }
  for (Hypothesis& hypothesis : hypotheses) {
    Output output = to_output(target_tokenizer(), std::move(hypothesis));
    output.piece_links = piece_links(output.attention, static_cast<int>(source.ids.size()),
                                     static_cast<int>(output.pieces.size()), alignment);
    if (!keep_attention) output.attention.clear();
    translation.n_best.push_back(std::move(output));
  }
  return translation;
}

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
  text::PlacedPieces pieces = encode(line);
  const auto length = static_cast<int>(pieces.ids.size());
  if (length <= max_source_length) {
    segments.push_back({index, std::move(pieces), std::move(constraints), combine(number, 0)});
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
    return static_cast<int>(source_tokenizer().encode(text).size());
  });
  spdlog::warn("{}:{}: has {} pieces, more than {}: translated in {} parts", origin.name, number,
               length, max_source_length, parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    segments.push_back(
        {index, encode(parts[i]), std::exchange(constraints, {}), combine(number, i)});
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
  AlignmentRule alignment;
  if (options.alignment || options.attention) {
    alignment = rule_for(models, defaults);
    search.attention_heads = options.attention ? all_heads(models) : alignment.heads;
  }
  state_ = std::make_unique<const State>(State{std::move(models), std::move(target_text),
                                               std::move(search), max_source_length,
                                               options.split_long_lines, options.replace_invalid,
                                               batches, std::move(alignment), options.attention});
}

Translator::~Translator() = default;
Translator::Translator(Translator&&) noexcept = default;

std::vector<Translation> Translator::translate(std::span<const std::string> lines,
                                               const LineOrigin& origin,
                                               std::span<const LineConstraints> constraints) const {
  std::vector<Segment> segments;
  std::vector<std::string> texts;
  for (size_t i = 0; i < lines.size(); ++i) {
    const int64_t number = origin.first_line + static_cast<int64_t>(i);
    texts.push_back(checked_text(lines[i], state_->replace_invalid, origin, number));
    Constraints of_line;
    if (!constraints.empty()) of_line = state_->to_tokens(constraints[i], origin, number);
    state_->append_segments(texts[i], i, std::move(of_line), origin, number, segments);
  }

  std::vector<const model::Transformer*> models;
  for (const model::Model& model : state_->models) models.push_back(&model.transformer);
  std::vector<SourceSentence> sentences;
  for (Segment& segment : segments) {
    sentences.push_back({segment.pieces.ids, std::move(segment.constraints), segment.key});
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
    parts[segments[s].line].push_back(
        state_->to_translation(segments[s].pieces, std::move(hypotheses[s])));
  }
  std::vector<Translation> translations;
  for (size_t i = 0; i < parts.size(); ++i) {
    const double length_penalty = state_->search.length_penalty;
    translations.push_back(parts[i].size() == 1
                               ? std::move(parts[i][0])
                               : join_translations(parts[i], texts[i], length_penalty));
    const std::string blanks(leading_blanks(texts[i]));
    for (Output& output : translations.back().n_best) put_in_front(blanks, output);
  }
  return translations;
}

const SearchOptions& Translator::search_options() const { return state_->search; }

int Translator::heads() const {
  const auto& models = state_->models;
  return models.size() == 1 ? static_cast<int>(models[0].transformer.config().heads) : 1;
}

}  // namespace filigree::translate
