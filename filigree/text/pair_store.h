// Tokenised sentence pairs in a file, for corpora larger than memory.
//
// Only the index (12 bytes a pair: two lengths and a checksum) is mapped into memory, where the
// system may drop it again; pairs are read one by one when a batch asks for them. A pair's ids are
// not mapped as well: a process that walks through a file in random order would seem to hold all of
// it, and a failing disk would be a signal instead of an error.
//
// The file, little-endian:
//
//   header   magic, version, bytes per id (2 for vocabularies up to 65536, else 4)
//   ids      of all pairs, source then target, without gaps
//   index    zeros up to a multiple of 8; int32 lengths [pairs][2]; uint32 checksums [pairs];
//            zeros up to a multiple of 8; int64 counts [corpora][SourceReport::kCounts]
//   footer   numbers of pairs and corpora, bytes of ids, hash of the index, hash of the footer
//
// So every byte is under a hash: those of header, index and footer when the file is opened, those
// of a pair when it is read.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "filigree/base/files.h"
#include "filigree/base/random_access_file.h"
#include "filigree/text/corpus_report.h"
#include "filigree/text/parallel_corpus.h"

namespace filigree::text {

/// Reads a file that PairStoreWriter wrote; const methods may be called from several threads.
class PairStore {
 public:
  /// Throws Error with one line that says what is wrong when the file is missing, damaged or of
  /// another version.
  explicit PairStore(const std::filesystem::path& path);

  int64_t size() const { return static_cast<int64_t>(lengths_.size()); }
  std::span<const PairLength> lengths() const { return lengths_; }
  /// What became of each corpus's pairs, in order; without names.
  const std::vector<SourceReport>& corpora() const { return corpora_; }
  /// Of the pairs and their order: equal for two stores exactly when training on them is the same.
  uint64_t fingerprint() const { return fingerprint_; }

  /// A pair's ids. Throws Error when they are damaged; the file is then removed, so that it is made
  /// anew the next time.
  void read(int64_t i, std::vector<int32_t>& source, std::vector<int32_t>& target) const;

 private:
  void check_and_map_index();
  uint64_t offset_of(int64_t i) const;

  RandomAccessFile file_;
  RandomAccessFile::Mapping index_;
  std::span<const PairLength> lengths_;
  std::span<const uint32_t> checksums_;
  std::vector<SourceReport> corpora_;
  std::vector<uint64_t> block_begins_;  // ids before every kBlock-th pair
  uint64_t id_bytes_ = 0;
  uint64_t fingerprint_ = 0;
};

/// Writes such a file. It appears whole at commit() or not at all, see AtomicFile. Holds 12 bytes a
/// pair in memory.
class PairStoreWriter {
 public:
  /// vocabulary: pieces of the larger of the two vocabularies. Throws Error as AtomicFile does.
  PairStoreWriter(const std::filesystem::path& path, int vocabulary);

  void add(std::span<const int32_t> source, std::span<const int32_t> target);
  int64_t size() const { return static_cast<int64_t>(lengths_.size()); }
  /// Finishes the file. Throws Error, on a full disk for example.
  void commit(std::span<const SourceReport> corpora);

 private:
  AtomicFile file_;
  size_t id_bytes_;
  uint64_t ids_ = 0;
  std::string pair_;
  std::deque<PairLength> lengths_;
  std::deque<uint32_t> checksums_;
};

}  // namespace filigree::text
