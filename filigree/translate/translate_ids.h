// Translating tokenised sentences with a model in memory: what the translator does with text, and
// the trainer with its validation set.
#pragma once

#include <cstdint>
#include <functional>
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
  /// Called before every batch by the thread that translates it; what it throws ends the work.
  std::function<void()> before_batch = {};

  /// Throws UsageError naming the first option that is out of range.
  void check() const;
};

/// Suppresses the tokenizer's <pad> and, unless the options allow it, <unk>.
void suppress_special_tokens(SearchOptions& options, const text::Tokenizer& target);

/// A sentence to translate and what holds for its translation.
struct SourceSentence {
  std::span<const int> ids;  ///< without <s> and </s>
  Constraints constraints;
  uint64_t key = 0;  ///< see SentenceToSearch
};

/// The n-best translations of every sentence by the ensemble of some models, or by one, in order.
/// An empty sentence gives one empty hypothesis with score 0. A sentence's hypotheses and their
/// scores are the same bits whatever else is translated with it, on however many threads.
std::vector<std::vector<Hypothesis>> translate_ids(
    const std::vector<const model::Transformer*>& models, std::vector<SourceSentence> sentences,
    const SearchOptions& search, const BatchOptions& batches = {});
/// The same for one model and sentences, ids without <s> and </s>, without constraints.
std::vector<std::vector<Hypothesis>> translate_ids(const model::Transformer& model,
                                                   const std::vector<std::span<const int>>& sources,
                                                   const SearchOptions& search,
                                                   const BatchOptions& batches = {});

}  // namespace filigree::translate
