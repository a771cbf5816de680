#include "filigree/cli/translation_report.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "filigree/base/error.h"
#include "filigree/base/files.h"
#include "filigree/inspect/inspection_json.h"
#include "filigree/inspect/report.h"

namespace filigree::cli {

void prepare_report(const std::filesystem::path& file) {
  if (std::filesystem::is_directory(file)) {
    throw Error("{}: is a folder; --report takes a file", file.string());
  }
  make_writable_folder(std::filesystem::absolute(file).parent_path());
}

TranslationReport::TranslationReport(std::filesystem::path file, int most_sentences)
    : file_(std::move(file)), most_sentences_(static_cast<size_t>(most_sentences)) {
  prepare_report(file_);
}

void TranslationReport::add(const translate::Translation& translation) {
  ++line_;
  const translate::Output& best = translation.n_best.front();
  // Every part of a line has an end of its own.
  const bool whole = best.token_log_probabilities.size() <= best.pieces.size() + 1;
  if (sentences_.size() == most_sentences_ || translation.source.pieces.empty() || !whole) return;
  sentences_.push_back({.line = line_,
                        .source = translation.source.text,
                        .target = best.text,
                        .alignment = {},
                        .parse = {},
                        .pieces = inspect::PiecePair{translation.source.pieces, best.pieces}});
}

void TranslationReport::write(const std::vector<std::filesystem::path>& models,
                              const std::string& input_name, int threads) const {
  if (sentences_.empty()) {
    throw Error("{}: no report: every line is empty or was translated in parts", input_name);
  }
  inspect::InspectOptions options;
  options.models = models;
  options.input.source = input_name;
  options.sentences = sentences_;
  options.shown_sentences = static_cast<int>(sentences_.size());
  options.threads = threads;
  const inspect::Inspection inspection = inspect::inspect(options);
  write_file(file_, report_html(inspection, to_json(inspection)));
}

}  // namespace filigree::cli
