// What became of the pairs that were read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace filigree::text {

/// Counts of one corpus. A pair that is dropped counts under its first reason, in this order.
struct SourceReport {
  std::string name;
  int64_t read = 0;          ///< pairs in the files
  int64_t invalid_utf8 = 0;  ///< dropped: a line is not UTF-8
  int64_t nul_bytes = 0;     ///< dropped: a line has a NUL byte
  int64_t empty_source = 0;  ///< dropped: no pieces on the source side
  int64_t empty_target = 0;  ///< dropped: no pieces on the target side
  int64_t too_long = 0;      ///< dropped: more pieces than the maximum length on one side
  int64_t kept = 0;
  int64_t source_tokens = 0, target_tokens = 0;  ///< pieces of the kept pairs

  SourceReport& operator+=(const SourceReport& other);
  /// The reasons that occurred, such as "2 with an empty source, 1 too long".
  std::string reasons() const;
};

/// The report of read_corpus().
struct CorpusReport {
  std::vector<SourceReport> sources;

  /// The sum over the sources, with the name "total".
  SourceReport total() const;
  /// A table with one line per source and, when there are several, a line for the total. Reasons
  /// that never occurred have no column.
  std::string table() const;
};

}  // namespace filigree::text
