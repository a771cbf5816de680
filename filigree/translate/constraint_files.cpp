#include "filigree/translate/constraint_files.h"

#include <cstddef>
#include <string_view>
#include <utility>

#include "filigree/base/error.h"

namespace filigree::translate {
namespace {

std::string next_line(text::TextReader& reader) {
  std::optional<std::string> line = reader.next();
  if (!line) {
    throw Error("{}: has {} lines, fewer than the input; it needs one for each, which may be empty",
                reader.path().string(), reader.line_number());
  }
  return std::move(*line);
}

std::vector<std::string> fields(std::string_view line) {
  std::vector<std::string> result;
  while (!line.empty()) {
    const size_t tab = line.find('\t');
    if (tab > 0) result.emplace_back(line.substr(0, tab));
    line.remove_prefix(tab == std::string_view::npos ? line.size() : tab + 1);
  }
  return result;
}

}  // namespace

ConstraintFiles::ConstraintFiles(const std::optional<std::filesystem::path>& prefixes,
                                 const std::optional<std::filesystem::path>& required) {
  if (prefixes) prefixes_.emplace(*prefixes);
  if (required) required_.emplace(*required);
}

LineConstraints ConstraintFiles::next() {
  LineConstraints constraints;
  if (prefixes_) constraints.prefix = next_line(*prefixes_);
  if (required_) constraints.required = fields(next_line(*required_));
  return constraints;
}

void ConstraintFiles::check_end() {
  for (std::optional<text::TextReader>* reader : {&prefixes_, &required_}) {
    if (*reader && (*reader)->next()) {
      throw Error("{}: has more lines than the input", (*reader)->path().string());
    }
  }
}

}  // namespace filigree::translate
