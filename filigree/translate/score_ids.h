// What a model says about given translations of tokenised sentences: teacher forcing.
#pragma once

#include <span>
#include <vector>

#include "filigree/model/transformer.h"
#include "filigree/translate/attention_row.h"
#include "filigree/translate/translate_ids.h"

namespace filigree::translate {

struct ForcedTranslation {
  /// log p of every target piece and, last, of the end; −inf where p is zero.
  std::vector<float> token_log_probabilities;
  AttentionRows attention;  ///< beside them; empty unless heads are given
};

/// One for every pair, in order; sentences are ids without <s> and </s>, and may be empty. What
/// else is in a batch does not matter, but for rounding. heads: whose weights to keep, layer ·
/// heads + head. Sets LibTorch's and OpenBLAS's threads to 1: here every thread has a batch of its
/// own.
std::vector<ForcedTranslation> score_ids(const model::Transformer& model,
                                         const std::vector<std::span<const int>>& sources,
                                         const std::vector<std::span<const int>>& targets,
                                         std::span<const int> heads = {},
                                         const BatchOptions& options = {});

}  // namespace filigree::translate
