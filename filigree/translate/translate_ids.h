// Translating tokenised sentences with a model in memory: what the translator does with text, and
// the trainer with its validation set.
#pragma once

#include <span>
#include <vector>

#include "filigree/model/transformer.h"
#include "filigree/text/tokenizer.h"
#include "filigree/translate/engine.h"

namespace filigree::translate {

/// Suppresses the tokenizer's <pad> and, unless the options allow it, <unk>.
void suppress_special_tokens(SearchOptions& options, const text::Tokenizer& target);

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
