// From text to text: a model directory, ready to translate. Needs no LibTorch header.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "filigree/translate/engine.h"
#include "filigree/translate/translation.h"

namespace filigree::translate {

struct TranslatorOptions {
  /// The model directory's generation_config.json when absent.
  std::optional<SearchOptions> search;
  /// Pieces of the longest source translated in one go; that of generation_config.json when absent.
  std::optional<int> max_source_length;
  /// What happens to a line with more pieces: it is split, with a warning, or refused with an
  /// Error.
  bool split_long_lines = true;
  /// Lines that are not UTF-8 or contain a NUL byte: U+FFFD takes the place of what is wrong, with
  /// a warning; else they are errors.
  bool replace_invalid = false;
  /// Phrases of the target language that no translation contains, see TargetText::banned().
  std::vector<std::string> banned_phrases;
  Precision precision = Precision::kFloat32;  ///< of the weights in memory
  BatchOptions batches;
  bool alignment = false;  ///< fill Translation::source and Output::piece_links
  bool attention = false;  ///< fill Output::attention as well, with all heads
};

/// What the translation of one line has to be like.
struct LineConstraints {
  std::string prefix;  ///< it begins with this, see TargetText::prefix()
  /// It contains these phrases, see TargetText::required().
  std::vector<std::string> required;
};

/// A line with what its translation has to be like.
struct SourceLine {
  std::string text;
  LineConstraints constraints;
};

/// Where lines come from, for messages: "name:17: …" is the first of them when first_line is 17.
struct LineOrigin {
  std::string name = "input";
  int64_t first_line = 1;
};

class Translator {
 public:
  /// Throws Error naming the file when the directory is not a whole model, UsageError on options
  /// that are out of range.
  explicit Translator(const std::filesystem::path& model_directory, TranslatorOptions options = {});
  /// An ensemble: at every step the mean of the models' probabilities. Defaults are those of the
  /// first. Throws Error also when their tokenizers are not the same.
  explicit Translator(const std::vector<std::filesystem::path>& model_directories,
                      TranslatorOptions options = {});
  ~Translator();
  Translator(Translator&&) noexcept;

  /// One translation per line, in order, the same whatever else is translated with it. The white
  /// space that a line begins with is kept, so that an empty or blank line stays as it is. The n-th
  /// output of a line that was split joins the n-th outputs of its parts. Samples depend on the
  /// number of the line. May be called from several threads. constraints: for every line, or none.
  /// A line that is split has its prefix in the first part and may not have required phrases. Of
  /// lines without all required phrases a warning tells. Throws Error naming the first line that is
  /// not UTF-8 or contains a NUL byte, or whose constraints the model's pieces cannot spell.
  std::vector<Translation> translate(std::span<const std::string> lines,
                                     const LineOrigin& origin = {},
                                     std::span<const LineConstraints> constraints = {}) const;

  /// The same for lines that come one by one, in bounded memory: calls `deliver` with the
  /// translations in order, each as soon as it and all before it are found. `next` is called on
  /// this thread and may wait, while others translate; it gives nothing at the end. `deliver` is
  /// called by one thread at a time, whichever it is. When a line is wrong, those before it are
  /// delivered first.
  void translate_each(const std::function<std::optional<SourceLine>()>& next,
                      const std::function<void(Translation)>& deliver,
                      const LineOrigin& origin = {}) const;

  const SearchOptions& search_options() const;
  /// Of a layer in Output::attention; an ensemble has one, the mean over the last layers' heads.
  int heads() const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace filigree::translate
