// Translating tokenised sentences with a model in memory: what the translator does with text, and
// the trainer with its validation set.
#pragma once

#include <span>
#include <vector>

#include "filigree/model/transformer.h"
#include "filigree/text/tokenizer.h"
#include "filigree/translate/search.h"

namespace filigree::translate {

struct BatchOptions {
  int threads = 1;              ///< batches translated at the same time
  int mini_batch = 32;          ///< most sentences in a batch
  int mini_batch_words = 2048;  ///< most source pieces in a batch (a longer sentence is alone)

  /// Throws UsageError naming the first option that is out of range.
  void check() const;
};

/// Suppresses the tokenizer's <pad> and, unless the options allow it, <unk>.
void suppress_special_tokens(SearchOptions& options, const text::Tokenizer& target);

/// The n-best translations of every sentence, in order; sentences are ids without <s> and </s>. An
/// empty sentence gives one empty hypothesis with score 0. A sentence's hypotheses and their scores
/// are the same bits whatever else is translated with it, on however many threads.
std::vector<std::vector<Hypothesis>> translate_ids(const model::Transformer& model,
                                                   const std::vector<std::span<const int>>& sources,
                                                   const SearchOptions& search,
                                                   const BatchOptions& batches = {});

}  // namespace filigree::translate
