// What became of the pairs that were read.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace filigree::text {

/// Counts of one corpus. A pair that is dropped counts under its first reason, in this order.
struct SourceReport {
  std::string name = {};
  int64_t read = 0;          ///< pairs in the files
  int64_t invalid_utf8 = 0;  ///< dropped: a line is not UTF-8
  int64_t nul_bytes = 0;     ///< dropped: a line has a NUL byte
  int64_t empty_source = 0;  ///< dropped: no pieces on the source side
  int64_t empty_target = 0;  ///< dropped: no pieces on the target side
  int64_t too_long = 0;      ///< dropped: more pieces than the maximum length on one side
  int64_t length_ratio = 0;  ///< dropped: one side too many times as long as the other
  int64_t identical = 0;     ///< dropped: source and target are the same
  int64_t wrong_script = 0;  ///< dropped: too few letters of the script expected on a side
  int64_t duplicates = 0;    ///< dropped: the same pair came before
  int64_t kept = 0;
  int64_t source_tokens = 0, target_tokens = 0;  ///< pieces of the kept pairs

  /// Everything but the name, in the order above: how it is kept in a file.
  static constexpr size_t kCounts = 13;
  std::array<int64_t, kCounts> counts() const;
  void set_counts(const std::array<int64_t, kCounts>& counts);
  /// Pairs that were dropped.
  int64_t dropped() const { return read - kept; }

  SourceReport& operator+=(const SourceReport& other);
  /// The reasons that occurred, such as "2 with an empty source, 1 too long".
  std::string reasons() const;
};

/// The report on several corpora.
struct CorpusReport {
  std::vector<SourceReport> sources;

  /// The sum over the sources, with the name "total".
  SourceReport total() const;
  /// A table with one line per source and, when there are several, a line for the total. Reasons
  /// that never occurred have no column.
  std::string table() const;
  /// Such as "left out 12,345 of 440,288 pairs: 12,000 too long, 345 duplicates"; "" for none.
  std::string summary() const;
};

}  // namespace filigree::text
