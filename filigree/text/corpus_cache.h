// A folder of tokenised corpora, so that text is tokenised once and not at every start.
//
//   <key>.pairs   a PairStore; the key is a hash of the corpora's bytes, the vocabularies, and the
//                 options that decide what is kept
//   lock          held while a file is made
//
// Nothing in it is needed: a file that is missing or damaged is made again.
#pragma once

#include <filesystem>

#include "filigree/text/corpus_builder.h"

namespace filigree::text {

struct CorpusCache {
  std::filesystem::path folder;  ///< made when absent
  bool remove_others = false;    ///< the folder serves one training: remove what it used before
};

/// The tokenised corpora: opened when the folder has them, else built there; `report` tells what
/// became of the pairs either way. Several processes may call this at once: one builds and the
/// others wait. Corpora that are not files (pipes, standard input) are built every time and kept
/// for this process alone.
/// Throws as build_corpus() does, and Error when the folder cannot be written and must be.
PairStore open_corpus(const CorpusOptions& options, const Tokenizer& source,
                      const Tokenizer& target, const CorpusCache& cache, CorpusReport& report);

}  // namespace filigree::text
