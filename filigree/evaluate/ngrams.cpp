#include "filigree/evaluate/ngrams.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace filigree::evaluate {

UnitText UnitText::of_characters(std::u32string text) {
  UnitText units;
  units.text_ = std::move(text);
  units.starts_.resize(units.text_.size() + 1);
  std::iota(units.starts_.begin(), units.starts_.end(), size_t{0});
  return units;
}

UnitText UnitText::of_words(const std::vector<std::u32string_view>& words) {
  UnitText units;
  units.gap_ = 1;
  units.starts_.reserve(words.size() + 1);
  units.starts_.push_back(0);
  for (const auto word : words) {
    units.text_.append(word).append(1, U' ');
    units.starts_.push_back(units.text_.size());
  }
  return units;
}

NgramCounts UnitText::count(int order) const {
  NgramCounts counts;
  const std::u32string_view text = text_;
  const auto n = static_cast<size_t>(order);
  for (size_t i = 0; i + n < starts_.size(); ++i) {
    ++counts[text.substr(starts_[i], starts_[i + n] - gap_ - starts_[i])];
  }
  return counts;
}

int64_t matches(const NgramCounts& a, const NgramCounts& b) {
  int64_t sum = 0;
  for (const auto& [ngram, count] : a) {
    const auto other = b.find(ngram);
    if (other != b.end()) sum += std::min(count, other->second);
  }
  return sum;
}

int64_t total(const NgramCounts& counts) {
  int64_t sum = 0;
  for (const auto& entry : counts) sum += entry.second;
  return sum;
}

}  // namespace filigree::evaluate
