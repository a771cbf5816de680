// N-best lists in Moses' form, a line per output:
// "line ||| text ||| features ||| score", with further fields (an alignment, say) kept as they are.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace filigree::translate {

struct NBestEntry {
  int64_t line = 0;  ///< of the source, from 0
  std::string text, features;
  double score = 0;
  std::string rest;  ///< what follows the score, with its separator
};

/// Throws Error saying what is wrong.
NBestEntry parse_n_best_entry(std::string_view line);
/// The line, without its end. Scores have six decimals.
std::string format_n_best_entry(const NBestEntry& entry);

/// Adds "name= value" to the features. Throws Error when there is such a feature already.
void add_feature(NBestEntry& entry, const std::string& name, double value);

/// score ← (1 − weight) · score + weight · scores[i], for the entries of one line, which are then
/// sorted, best first; equal ones stay in order.
void rerank(std::vector<NBestEntry>& entries, const std::vector<double>& scores, double weight);

}  // namespace filigree::translate
