// The report of `filigree translate`: what the model looked at while it made these translations.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "filigree/inspect/input.h"
#include "filigree/translate/translation.h"

namespace filigree::cli {

/// Keeps the pieces of the first translations, so that memory does not grow with the text.
class TranslationReport {
 public:
  /// Throws Error when `file` cannot be written, before the work begins.
  TranslationReport(std::filesystem::path file, int most_sentences);

  /// Of the next line. Lines that are empty or were translated in parts are passed over. The
  /// translation needs its source's pieces (see TranslatorOptions::alignment).
  void add(const translate::Translation& translation);

  /// Inspects the sentences with every model and writes the file. Throws Error when there are none.
  void write(const std::vector<std::filesystem::path>& models, const std::string& input_name,
             int threads) const;

 private:
  std::filesystem::path file_;
  size_t most_sentences_;
  int64_t line_ = 0;
  std::vector<inspect::InputSentence> sentences_;
};

/// The report's folder is made, and it is checked that files can be made in it.
void prepare_report(const std::filesystem::path& file);

}  // namespace filigree::cli
