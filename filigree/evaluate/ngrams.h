// n-grams of words and of characters, counted without copying them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace filigree::evaluate {

/// How often each n-gram of one order occurs. The keys are views of the counted text.
using NgramCounts = std::unordered_map<std::u32string_view, int64_t>;

/// A text cut into units, laid out so that every n-gram of units is one stretch of it.
class UnitText {
 public:
  /// Units are code points.
  static UnitText of_characters(std::u32string text);
  /// Units are words, which hold no white space.
  static UnitText of_words(const std::vector<std::u32string_view>& words);

  /// The number of units.
  int64_t size() const { return static_cast<int64_t>(starts_.size()) - 1; }
  /// All n-grams of an order ≥ 1; valid while this object stays where it is.
  NgramCounts count(int order) const;

 private:
  std::u32string text_;
  std::vector<size_t> starts_;  // of each unit, then of the one that would come next
  size_t gap_ = 0;              // between units: 1 for the space between words
};

/// Σ over n-grams of min(count in a, count in b).
int64_t matches(const NgramCounts& a, const NgramCounts& b);

/// The number of n-grams, repeated ones included.
int64_t total(const NgramCounts& counts);

}  // namespace filigree::evaluate
