// From text files to a file of tokenised pairs, in a stream: memory does not grow with the text but
// by 12 bytes a pair, and by up to 21 more when duplicates are left out.
#pragma once

#include <vector>

#include "filigree/text/corpus_report.h"
#include "filigree/text/pair_filter.h"
#include "filigree/text/pair_reader.h"
#include "filigree/text/pair_store.h"
#include "filigree/text/tokenizer.h"

namespace filigree::text {

/// What a training reads, and how.
struct CorpusOptions {
  std::vector<CorpusSource> sources = {};
  FilterOptions filters = {};
  BadLines bad_lines = BadLines::kError;  ///< lines that are not UTF-8 or contain a NUL byte
  int threads = 0;                        ///< that tokenise; 0: all usable cores
};

/// Throws UsageError on options out of range.
void validate(const CorpusOptions& options);

/// Reads, filters and tokenises the corpora, in order, and commits `out`; reports on each. The
/// result does not depend on the number of threads. Throws UsageError on options out of range, and
/// Error when a file is missing, empty, damaged or does not fit its partner, when a corpus has no
/// pair worth keeping, and when `out` cannot be written.
CorpusReport build_corpus(const CorpusOptions& options, const Tokenizer& source,
                          const Tokenizer& target, PairStoreWriter& out);

}  // namespace filigree::text
