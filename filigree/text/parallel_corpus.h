// Tokenised sentence pairs in memory: a batch, or a validation set.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace filigree::text {

/// Pieces on the two sides of a pair, without <s> and </s>.
struct PairLength {
  int32_t source, target;
  bool operator==(const PairLength&) const = default;
};

/// Sentence pairs as ids, without <s> and </s>, one after the other in one array.
class ParallelCorpus {
 public:
  int64_t size() const { return static_cast<int64_t>(lengths_.size()); }
  std::span<const int32_t> source(int64_t i) const {
    return {ids_.data() + begins_[static_cast<size_t>(i)], static_cast<size_t>(source_length(i))};
  }
  std::span<const int32_t> target(int64_t i) const {
    return {source(i).data() + source_length(i), static_cast<size_t>(target_length(i))};
  }
  int64_t source_length(int64_t i) const { return lengths_[static_cast<size_t>(i)].source; }
  int64_t target_length(int64_t i) const { return lengths_[static_cast<size_t>(i)].target; }
  std::span<const PairLength> lengths() const { return lengths_; }

  /// Appends a pair.
  void add(std::span<const int32_t> source, std::span<const int32_t> target) {
    begins_.push_back(ids_.size());
    lengths_.push_back({static_cast<int32_t>(source.size()), static_cast<int32_t>(target.size())});
    ids_.insert(ids_.end(), source.begin(), source.end());
    ids_.insert(ids_.end(), target.begin(), target.end());
  }

 private:
  std::vector<int32_t> ids_;
  std::vector<size_t> begins_;
  std::vector<PairLength> lengths_;
};

}  // namespace filigree::text
