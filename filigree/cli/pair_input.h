// What the commands on given translations share: a model, its pairs of lines, and how they are
// batched.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "filigree/cli/command.h"
#include "filigree/text/pair_reader.h"
#include "filigree/translate/scorer.h"

namespace filigree::cli {

struct PairInput {
  std::filesystem::path model;
  std::vector<std::filesystem::path> files;  ///< source and target or, with tsv, one
  bool tsv = false;
  int chunk_lines = 1000;

  /// Throws UsageError when the number of files does not fit.
  void check() const;
};

/// --model, SOURCE TARGET, --tsv
void add_pair_options(Command& command, PairInput& input);
/// --threads, --mini-batch, --mini-batch-words, --chunk-lines
void add_pair_speed_options(Command& command, PairInput& input, translate::ScorerOptions& scorer);

/// Reads the pairs, chunk_lines at a time, in order.
void for_each_chunk(const PairInput& input,
                    const std::function<void(const std::vector<text::SentencePair>&)>& take);

}  // namespace filigree::cli
