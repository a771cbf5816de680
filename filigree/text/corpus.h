// Parallel text as token ids, kept in memory for training.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "filigree/text/corpus_report.h"
#include "filigree/text/pair_reader.h"
#include "filigree/text/tokenizer.h"

namespace filigree::text {

/// Sentences as ids, one after the other in one array.
class TokenStore {
 public:
  int64_t size() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  int64_t tokens() const { return offsets_.back(); }
  int64_t length(int64_t i) const { return offsets_[i + 1] - offsets_[i]; }
  std::span<const int32_t> operator[](int64_t i) const {
    return {ids_.data() + offsets_[i], static_cast<size_t>(length(i))};
  }
  void add(std::span<const int32_t> ids) {
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    offsets_.push_back(static_cast<int64_t>(ids_.size()));
  }

 private:
  std::vector<int32_t> ids_;
  std::vector<int64_t> offsets_ = {0};
};

/// Tokenised sentence pairs, without <s> and </s>. A pair takes 4 bytes per token and 16 more.
class ParallelCorpus {
 public:
  /// Pairs begin … end − 1 come from one source and share its weight.
  struct Part {
    int64_t begin, end;
    double weight;
  };

  int64_t size() const { return source_.size(); }
  std::span<const int32_t> source(int64_t i) const { return source_[i]; }
  std::span<const int32_t> target(int64_t i) const { return target_[i]; }
  int64_t source_length(int64_t i) const { return source_.length(i); }
  int64_t target_length(int64_t i) const { return target_.length(i); }
  int64_t source_tokens() const { return source_.tokens(); }
  int64_t target_tokens() const { return target_.tokens(); }
  const std::vector<Part>& parts() const { return parts_; }

  /// Begins a new part; there must be one before the first pair.
  void begin_part(double weight) { parts_.push_back({size(), size(), weight}); }
  /// Appends a pair to the last part.
  void add(std::span<const int32_t> source, std::span<const int32_t> target);

 private:
  TokenStore source_, target_;
  std::vector<Part> parts_;
};

/// What read_corpus() reads.
struct CorpusOptions {
  std::vector<CorpusSource> sources = {};
  int max_length = 256;  ///< pieces on either side; pairs with a longer side are dropped
  BadLines bad_lines = BadLines::kError;  ///< lines that are not UTF-8 or contain a NUL byte
  int threads = 0;                        ///< that tokenise; 0: all usable cores
};

/// Reads and tokenises the corpora, in order, and reports on each. The result does not depend on
/// the number of threads. Throws UsageError on options out of range, and Error when a file is
/// missing, empty, damaged or does not fit its partner, and when a source has no pair worth
/// keeping.
ParallelCorpus read_corpus(const CorpusOptions& options, const Tokenizer& source,
                           const Tokenizer& target, CorpusReport& report);

}  // namespace filigree::text
