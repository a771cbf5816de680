#include "filigree/evaluate/alignment_error.h"

#include <algorithm>

#include "filigree/base/error.h"

namespace filigree::evaluate {
namespace {

double ratio(int64_t part, int64_t whole) {
  return whole == 0 ? 1 : static_cast<double>(part) / static_cast<double>(whole);
}

int64_t common(const Links& a, const Links& b) {
  return std::count_if(a.begin(), a.end(), [&b](const Link& link) {
    return std::binary_search(b.begin(), b.end(), link);
  });
}

GoldLinks parse_gold(std::string_view line, int first) {
  try {
    return parse_gold_links(line, first);
  } catch (const Error& error) {
    throw Error("gold alignment: {}", error.what());
  }
}

AlignmentCounts from_values(std::span<const int64_t> counts) {
  return {counts[0], counts[1], counts[2], counts[3]};
}

}  // namespace

void AlignmentCounts::add(const Links& links, const GoldLinks& gold) {
  sure_found += common(links, gold.sure);
  possible_found += common(links, gold.possible);
  found += static_cast<int64_t>(links.size());
  sure += static_cast<int64_t>(gold.sure.size());
}

double AlignmentCounts::precision() const { return ratio(possible_found, found); }
double AlignmentCounts::recall() const { return ratio(sure_found, sure); }
double AlignmentCounts::error_rate() const {
  return 1 - ratio(sure_found + possible_found, found + sure);
}

std::vector<int64_t> AlignmentErrorRate::count(std::string_view hypothesis,
                                               std::span<const std::string_view> references) const {
  if (references.size() != 1) throw Error("AER takes one gold alignment");
  AlignmentCounts counts;
  counts.add(parse_links(hypothesis), parse_gold(references[0], first_));
  return {counts.sure_found, counts.possible_found, counts.found, counts.sure};
}

double AlignmentErrorRate::score(std::span<const int64_t> counts) const {
  return 100 * from_values(counts).error_rate();
}

std::string AlignmentErrorRate::details(std::span<const int64_t> values) const {
  const AlignmentCounts counts = from_values(values);
  return fmt::format("precision = {:.2f} recall = {:.2f} (links = {} sure = {})",
                     100 * counts.precision(), 100 * counts.recall(), counts.found, counts.sure);
}

Fields AlignmentErrorRate::settings() const { return {{"first", std::to_string(first_)}}; }

}  // namespace filigree::evaluate
