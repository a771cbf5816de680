// Which sentence pairs are worth training on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "filigree/text/corpus_report.h"
#include "filigree/text/pair_reader.h"
#include "filigree/text/script.h"

namespace filigree::text {

/// Pairs with an empty side are always left out.
struct FilterOptions {
  int max_length = 256;            ///< pieces on either side
  double max_length_ratio = 0;     ///< pieces of the longer side per piece of the shorter; 0: any
  bool drop_identical = false;     ///< pairs whose source and target are the same
  bool drop_duplicates = false;    ///< pairs that came before, in any of the corpora
  std::string source_script = {};  ///< see Script; "" or "any": any script
  std::string target_script = {};
  double min_script_share = 0.5;  ///< of a side's letters that must be in its script
};

/// Throws UsageError on options out of range.
void validate(const FilterOptions& options);

/// Decides about pairs one by one; const, so that several threads may share it.
class PairFilter {
 public:
  /// Throws UsageError on options out of range.
  explicit PairFilter(const FilterOptions& options);

  /// The count of the report that a pair goes to: `kept`, or the first reason to drop it. The
  /// numbers of pieces are those of its sides. Duplicates are another matter, see below.
  int64_t SourceReport::*judge(const SentencePair& pair, size_t source_pieces,
                               size_t target_pieces) const;

 private:
  FilterOptions options_;
  std::optional<Script> source_script_, target_script_;
};

/// A set of 64-bit hashes: 11 to 21 bytes each, open addressing in one array.
class HashSet {
 public:
  /// False when it was there already.
  bool insert(uint64_t hash);
  int64_t size() const { return size_; }

 private:
  void grow();
  std::vector<uint64_t> slots_;  // 0: free
  int64_t size_ = 0;
};

/// What a HashSet keeps of a pair to know it again. Two different pairs of n are taken for the
/// same with a probability of n² / 2^65: one in two million for five million pairs.
uint64_t hash_of(const SentencePair& pair);

}  // namespace filigree::text
