#include "filigree/inspect/word_alignment.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "filigree/base/error.h"

namespace filigree::inspect {
namespace {

bool parse_number(const char*& at, const char* end, int32_t& number) {
  const auto [rest, error] = std::from_chars(at, end, number);
  const bool good = error == std::errc() && number >= 0;
  at = rest;
  return good;
}

int32_t space_words(const Tokens& tokens) {
  return tokens.space_word.empty()
             ? 0
             : 1 + *std::max_element(tokens.space_word.begin(), tokens.space_word.end());
}

}  // namespace

WordAlignment parse_alignment(const std::string& line, const std::filesystem::path& file,
                              int64_t line_number) {
  WordAlignment links;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) {
    Link link{};
    const char* at = word.data();
    const char* const end = at + word.size();
    bool good = parse_number(at, end, link.source) && at < end;
    if (good) {
      good = *at == '-' || *at == 'p' || *at == '?';
      link.sure = *at++ == '-';
    }
    if (!good || !parse_number(at, end, link.target) || at != end) {
      throw Error("{}:{}: '{}' is no link; expected SOURCE-TARGET such as 0-2 (or 0p2: possible)",
                  file.string(), line_number, word);
    }
    links.push_back(link);
  }
  return links;
}

void AlignmentCounts::operator+=(const AlignmentCounts& other) {
  predicted += other.predicted;
  sure += other.sure;
  hits_sure += other.hits_sure;
  hits_possible += other.hits_possible;
}

double AlignmentCounts::error_rate() const {
  if (predicted + sure == 0) return 1;
  return 1 - static_cast<double>(hits_sure + hits_possible) / static_cast<double>(predicted + sure);
}

AlignmentCounts measure_alignment(const SparseAttention& attention, const Tokens& target,
                                  const Tokens& source, const WordAlignment& gold,
                                  AlignmentStep step) {
  const auto source_words = static_cast<size_t>(space_words(source));
  const auto target_words = static_cast<size_t>(space_words(target));
  std::vector<double> mass(source_words * target_words);
  for (int32_t t = 1; t < target.size(); ++t) {
    const auto word = static_cast<size_t>(target.space_word[static_cast<size_t>(t)]);
    for (const auto& entry : attention.row(step == AlignmentStep::kOutput ? t - 1 : t)) {
      const int32_t s = source.space_word[static_cast<size_t>(entry.key)];
      if (s >= 0) mass[word * source_words + static_cast<size_t>(s)] += entry.weight;
    }
  }
  AlignmentCounts counts;
  counts.sure = std::count_if(gold.begin(), gold.end(), [](const Link& link) { return link.sure; });
  for (size_t t = 0; t < target_words; ++t) {
    const auto row = mass.begin() + static_cast<std::ptrdiff_t>(t * source_words);
    const auto best = std::max_element(row, row + static_cast<std::ptrdiff_t>(source_words));
    if (source_words == 0 || *best == 0) continue;
    ++counts.predicted;
    const auto s = static_cast<int32_t>(best - row), word = static_cast<int32_t>(t);
    const auto found = std::find_if(gold.begin(), gold.end(), [&](const Link& link) {
      return link.source == s && link.target == word;
    });
    if (found == gold.end()) continue;
    ++counts.hits_possible;
    counts.hits_sure += found->sure;
  }
  return counts;
}

void check_alignment(const WordAlignment& alignment, const Tokens& source, const Tokens& target,
                     const std::filesystem::path& file, int64_t line_number) {
  const int32_t source_words = space_words(source), target_words = space_words(target);
  for (const Link& link : alignment) {
    if (link.source < source_words && link.target < target_words) continue;
    throw Error("{}:{}: link {}-{} names a word that is not there (the sentences have {} and {})",
                file.string(), line_number, link.source, link.target, source_words, target_words);
  }
}

}  // namespace filigree::inspect
