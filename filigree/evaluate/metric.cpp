#include "filigree/evaluate/metric.h"

#include "filigree/base/error.h"
#include "filigree/base/version.h"

namespace filigree::evaluate {
namespace {

std::vector<int64_t> count_line(const Metric& metric, std::string_view hypothesis,
                                std::span<const std::string_view> references, size_t number) {
  try {
    return metric.count(hypothesis, references);
  } catch (const Error& error) {
    throw Error("line {}: {}", number, error.what());
  }
}

}  // namespace

std::vector<int64_t> SegmentCounts::sum() const {
  std::vector<int64_t> sums(width, 0);
  for (size_t segment = 0; segment < segments(); ++segment) {
    const auto counts = row(segment);
    for (size_t i = 0; i < width; ++i) sums[i] += counts[i];
  }
  return sums;
}

std::string Metric::details(std::span<const int64_t>) const { return {}; }

void check_sizes(const Segments& hypotheses, const References& references) {
  if (references.empty()) throw Error("no references to compare the hypotheses with");
  for (size_t r = 0; r < references.size(); ++r) {
    if (references[r].size() != hypotheses.size()) {
      throw Error("{} hypotheses but {} references in set {}; they must pair up line by line",
                  hypotheses.size(), references[r].size(), r + 1);
    }
  }
  if (hypotheses.empty()) throw Error("no segments to evaluate: 0 hypotheses");
}

SegmentCounts count_segments(const Metric& metric, const Segments& hypotheses,
                             const References& references) {
  check_sizes(hypotheses, references);
  SegmentCounts counts;
  std::vector<std::string_view> segment_references(references.size());
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    for (size_t r = 0; r < references.size(); ++r) segment_references[r] = references[r][i];
    const auto row = count_line(metric, hypotheses[i], segment_references, i + 1);
    if (i == 0) {
      counts.width = row.size();
      counts.values.reserve(row.size() * hypotheses.size());
    }
    counts.values.insert(counts.values.end(), row.begin(), row.end());
  }
  return counts;
}

std::vector<int64_t> count_segment(const Metric& metric, std::string_view hypothesis,
                                   const Segments& references) {
  if (references.empty()) throw Error("no references to compare the hypothesis with");
  const std::vector<std::string_view> views(references.begin(), references.end());
  return metric.count(hypothesis, views);
}

Fields signature_fields(const Metric& metric, size_t reference_sets,
                        const std::optional<Resampling>& resampling) {
  Fields fields{{"nrefs", std::to_string(reference_sets)}};
  if (resampling) {
    fields.emplace_back("bs", std::to_string(resampling->samples));
    fields.emplace_back("seed", std::to_string(resampling->seed));
  }
  for (auto& setting : metric.settings()) fields.push_back(std::move(setting));
  fields.emplace_back("impl", "filigree");
  fields.emplace_back("version", version());
  return fields;
}

std::string signature_text(const Fields& fields) {
  std::string text;
  for (const auto& [key, value] : fields) {
    if (!text.empty()) text += '|';
    text += key + ':' + value;
  }
  return text;
}

std::string signature(const Metric& metric, size_t reference_sets,
                      const std::optional<Resampling>& resampling) {
  return signature_text(signature_fields(metric, reference_sets, resampling));
}

}  // namespace filigree::evaluate
