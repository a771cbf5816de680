#include "filigree/translate/translator.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <numeric>
#include <utility>

#include "filigree/base/error.h"
#include "filigree/base/random.h"
#include "filigree/base/threads.h"
#include "filigree/model/model_directory.h"
#include "filigree/text/text_file.h"
#include "filigree/text/utf8.h"
#include "filigree/translate/alignment.h"
#include "filigree/translate/generation_config.h"
#include "filigree/translate/joined_translation.h"
#include "filigree/translate/line_window.h"
#include "filigree/translate/spacing.h"
#include "filigree/translate/split_line.h"
#include "filigree/translate/target_text.h"
#include "filigree/translate/translate_ids.h"

namespace filigree::translate {
namespace {

/// A line in work: one segment, or several where it was too long.
struct Line {
  int64_t number;  ///< for messages
  std::string text;
  std::vector<text::PlacedPieces> segments;  ///< places only where they are needed
  std::vector<Translation> parts;            ///< of the segments
  std::atomic<size_t> missing;               ///< parts that are not there yet
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
  output.penalties = hypothesis.penalties;
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
  if (models.size() > 1) return {.heads = {0}, .argmax = true};
  return alignment_rule(models[0].transformer.config(), defaults);
}

std::vector<int> all_heads(const std::vector<model::Model>& models) {
  const model::ModelConfig& config = models[0].transformer.config();
  std::vector<int> heads(models.size() == 1 ? config.decoder_layers * config.heads : 1);
  std::iota(heads.begin(), heads.end(), 0);
  return heads;
}

}  // namespace

struct Translator::State {
  model::Tokenizers tokenizers;
  Engine engine;
  TargetText target_text;
  SearchOptions search;
  int max_source_length;
  bool split_long_lines, replace_invalid;
  BatchOptions batches;
  AlignmentRule alignment;  ///< without heads where none is asked for
  bool keep_attention;
  int heads;  ///< see Translator::heads()

  Constraints to_tokens(const LineConstraints& constraints, const LineOrigin& origin,
                        int64_t number) const;
  text::PlacedPieces encode(const std::string& text) const;
  std::vector<text::PlacedPieces> to_segments(const std::string& line, bool may_split,
                                              const LineOrigin& origin, int64_t number) const;
  /// The jobs that translate a line; the last of them that is done calls `done`.
  std::vector<SentenceJob> jobs_of(const std::string& text, const LineConstraints& constraints,
                                   const LineOrigin& origin, int64_t number,
                                   std::function<void(Translation)> done) const;
  Translation to_translation(const text::PlacedPieces& source, std::vector<Hypothesis> n_best,
                             const LineOrigin& origin, int64_t number) const;
  Translation finish(Line& line) const;
};

text::PlacedPieces Translator::State::encode(const std::string& text) const {
  if (alignment.heads.empty()) return {text, tokenizers.source.encode(text), {}};
  return tokenizers.source.encode_with_places(text);
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

std::vector<text::PlacedPieces> Translator::State::to_segments(const std::string& line,
                                                               bool may_split,
                                                               const LineOrigin& origin,
                                                               int64_t number) const {
  text::PlacedPieces pieces = encode(line);
  const auto length = static_cast<int>(pieces.ids.size());
  if (length <= max_source_length) return {std::move(pieces)};
  if (!split_long_lines || !may_split) {
    throw Error(
        "{}:{}: has {} pieces, more than the {} allowed{}; split it or raise "
        "--max-source-length",
        origin.name, number, length, max_source_length,
        split_long_lines ? ", and required phrases" : "");
  }
  std::vector<text::PlacedPieces> segments;
  for (const std::string& part : split_line(line, max_source_length, [&](std::string_view text) {
         return static_cast<int>(tokenizers.source.encode(text).size());
       })) {
    segments.push_back(encode(part));
  }
  spdlog::warn("{}:{}: has {} pieces, more than {}: translated in {} parts", origin.name, number,
               length, max_source_length, segments.size());
  return segments;
}

Translation Translator::State::to_translation(const text::PlacedPieces& source,
                                              std::vector<Hypothesis> n_best,
                                              const LineOrigin& origin, int64_t number) const {
  if (!n_best.front().has_required) {
    spdlog::warn(
        "{}:{}: not all required phrases are in its translation: they need more pieces than the "
        "longest output has, or another rule forbids them",
        origin.name, number);
  }
  Translation translation;
  translation.source.text = source.text;
  if (!alignment.heads.empty()) {
    translation.source.places = source.places;
    for (const int id : source.ids) {
      translation.source.pieces.push_back(tokenizers.source.piece(id));
    }
  }
  for (Hypothesis& hypothesis : n_best) {
    Output output = to_output(tokenizers.target, std::move(hypothesis));
    output.piece_links = piece_links(output.attention, static_cast<int>(source.ids.size()),
                                     static_cast<int>(output.pieces.size()), alignment);
    if (!keep_attention) output.attention.clear();
    translation.n_best.push_back(std::move(output));
  }
  return translation;
}

Translation Translator::State::finish(Line& line) const {
  Translation whole = line.parts.size() == 1
                          ? std::move(line.parts[0])
                          : join_translations(line.parts, line.text, search.length_penalty);
  const std::string blanks(leading_blanks(line.text));
  for (Output& output : whole.n_best) put_in_front(blanks, output);
  return whole;
}

std::vector<SentenceJob> Translator::State::jobs_of(const std::string& text,
                                                    const LineConstraints& constraints,
                                                    const LineOrigin& origin, int64_t number,
                                                    std::function<void(Translation)> done) const {
  const auto line = std::make_shared<Line>();
  line->number = number;
  line->text = checked_text(text, replace_invalid, origin, number);
  Constraints tokens = to_tokens(constraints, origin, number);
  line->segments = to_segments(line->text, tokens.required.empty(), origin, number);
  line->parts.resize(line->segments.size());
  line->missing = line->segments.size();

  std::vector<SentenceJob> jobs;
  for (size_t i = 0; i < line->segments.size(); ++i) {
    SourceSentence sentence{line->segments[i].ids, std::exchange(tokens, {}), combine(number, i)};
    jobs.push_back({std::move(sentence), [this, line, i, done, &origin](auto n_best) {
                      line->parts[i] = to_translation(line->segments[i], std::move(n_best), origin,
                                                      line->number);
                      if (--line->missing == 0) done(finish(*line));
                    }});
  }
  return jobs;
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
  options.batches.check();
  std::vector<model::Model> models;
  std::vector<const model::Transformer*> transformers;
  models.reserve(model_directories.size());
  for (const std::filesystem::path& directory : model_directories) {
    models.push_back(model::load_model(directory));
    transformers.push_back(&models.back().transformer);
    check_same_tokenizers(models[0], model_directories[0], models.back(), directory);
  }
  const text::Tokenizer& target = models[0].tokenizers.target;
  suppress_special_tokens(search, target);
  TargetText target_text(target);
  if (!options.banned_phrases.empty()) {
    search.banned = std::make_shared<const PhraseGraph>(target_text.banned(options.banned_phrases));
  }
  AlignmentRule alignment;
  if (options.alignment || options.attention) {
    alignment = rule_for(models, defaults);
    search.attention_heads = options.attention ? all_heads(models) : alignment.heads;
  }
  const DecoderOptions decoder{.attention = needs_attention(search)};
  const auto heads = static_cast<int>(transformers[0]->config().heads);
  state_.reset(new State{models[0].tokenizers,
                         {transformers, options.precision, decoder},
                         std::move(target_text),
                         std::move(search),
                         max_source_length,
                         options.split_long_lines,
                         options.replace_invalid,
                         options.batches,
                         std::move(alignment),
                         options.attention,
                         models.size() == 1 ? heads : 1});
}

Translator::~Translator() = default;
Translator::Translator(Translator&&) noexcept = default;

std::vector<Translation> Translator::translate(std::span<const std::string> lines,
                                               const LineOrigin& origin,
                                               std::span<const LineConstraints> constraints) const {
  std::vector<Translation> translations(lines.size());
  std::vector<SentenceJob> jobs;
  for (size_t i = 0; i < lines.size(); ++i) {
    for (SentenceJob& job : state_->jobs_of(
             lines[i], constraints.empty() ? LineConstraints() : constraints[i], origin,
             origin.first_line + static_cast<int64_t>(i),
             [&, i](Translation translation) { translations[i] = std::move(translation); })) {
      jobs.push_back(std::move(job));
    }
  }
  state_->engine.run(std::move(jobs), state_->search, state_->batches);
  return translations;
}

void Translator::translate_each(const std::function<std::optional<SourceLine>()>& next,
                                const std::function<void(Translation)>& deliver,
                                const LineOrigin& origin) const {
  // So many that a line which takes long does not leave the threads without others.
  constexpr int kBatches = 8;
  const BatchOptions& batches = state_->batches;
  LineWindow window(static_cast<size_t>(kBatches) * batches.threads * batches.mini_batch, deliver);
  SentenceQueue queue;
  std::exception_ptr bad_line;
  const auto read = [&] {
    for (std::optional<SourceLine> line; (line = next());) {
      const std::optional<int64_t> index = window.begin();
      if (!index) return;
      const auto done = [&window, i = *index](Translation translation) {
        window.finish(i, std::move(translation));
      };
      for (SentenceJob& job : state_->jobs_of(line->text, line->constraints, origin,
                                              origin.first_line + *index, done)) {
        queue.push(std::move(job));
      }
    }
  };
  run_parallel(batches.threads + 1, [&](int thread) {
    try {
      if (thread > 0) return state_->engine.serve(queue, state_->search, batches);
      read();
    } catch (...) {
      if (thread > 0) {
        window.stop();
        throw;
      }
      bad_line = std::current_exception();
    }
    queue.close();
  });
  if (bad_line) std::rethrow_exception(bad_line);
}

const SearchOptions& Translator::search_options() const { return state_->search; }

int Translator::heads() const { return state_->heads; }

}  // namespace filigree::translate
