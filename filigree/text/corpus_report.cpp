#include "filigree/text/corpus_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "filigree/base/progress.h"

namespace filigree::text {
namespace {

struct Column {
  const char* heading;
  const char* reason;  // nullptr for a column that is always shown
  int64_t SourceReport::*count;
};

constexpr Column kColumns[] = {
    {"read", nullptr, &SourceReport::read},
    {"invalid UTF-8", "with invalid UTF-8", &SourceReport::invalid_utf8},
    {"NUL bytes", "with NUL bytes", &SourceReport::nul_bytes},
    {"empty source", "with an empty source", &SourceReport::empty_source},
    {"empty target", "with an empty target", &SourceReport::empty_target},
    {"too long", "too long", &SourceReport::too_long},
    {"length ratio", "of unlike lengths", &SourceReport::length_ratio},
    {"identical", "identical", &SourceReport::identical},
    {"wrong script", "in the wrong script", &SourceReport::wrong_script},
    {"duplicates", "duplicates", &SourceReport::duplicates},
    {"kept", nullptr, &SourceReport::kept},
    {"source tokens", nullptr, &SourceReport::source_tokens},
    {"target tokens", nullptr, &SourceReport::target_tokens},
};

static_assert(std::size(kColumns) == SourceReport::kCounts);

}  // namespace

std::array<int64_t, SourceReport::kCounts> SourceReport::counts() const {
  std::array<int64_t, kCounts> counts{};
  for (size_t i = 0; i < kCounts; ++i) counts[i] = this->*kColumns[i].count;
  return counts;
}

void SourceReport::set_counts(const std::array<int64_t, kCounts>& counts) {
  for (size_t i = 0; i < kCounts; ++i) this->*kColumns[i].count = counts[i];
}

SourceReport& SourceReport::operator+=(const SourceReport& other) {
  for (const Column& column : kColumns) this->*column.count += other.*column.count;
  return *this;
}

std::string SourceReport::reasons() const {
  std::string text;
  for (const Column& column : kColumns) {
    if (!column.reason || this->*column.count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", format_count(this->*column.count),
                        column.reason);
  }
  return text;
}

SourceReport CorpusReport::total() const {
  SourceReport sum{.name = "total"};
  for (const SourceReport& source : sources) sum += source;
  return sum;
}

std::string CorpusReport::table() const {
  std::vector<SourceReport> rows = sources;
  const SourceReport sum = total();
  if (sources.size() > 1) rows.push_back(sum);
  size_t name_width = std::string_view("corpus").size();
  for (const SourceReport& row : rows) name_width = std::max(name_width, row.name.size());

  std::string table = fmt::format("{:<{}}", "corpus", name_width);
  for (const Column& column : kColumns) {
    if (!column.reason || sum.*column.count > 0) table += fmt::format("  {:>9}", column.heading);
  }
  for (const SourceReport& row : rows) {
    table += fmt::format("\n{:<{}}", row.name, name_width);
    for (const Column& column : kColumns) {
      if (column.reason && sum.*column.count == 0) continue;
      const size_t width = std::max<size_t>(9, std::string_view(column.heading).size());
      table += fmt::format("  {:>{}}", row.*column.count, width);
    }
  }
  return table + "\n";
}

std::string CorpusReport::summary() const {
  const SourceReport sum = total();
  if (sum.dropped() == 0) return {};
  return fmt::format("left out {} of {} pairs: {}", format_count(sum.dropped()),
                     format_count(sum.read), sum.reasons());
}

}  // namespace filigree::text
