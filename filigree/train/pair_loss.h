// Sentence pairs as the model takes them, and the loss of a model on them.
#pragma once

#include <span>
#include <vector>

#include "filigree/model/transformer.h"
#include "filigree/text/parallel_corpus.h"

namespace filigree::train {

struct PackedPairs {
  model::Sequences source;        ///< each with </s> behind
  model::Sequences target_input;  ///< each with <s> in front
  at::Tensor gold;                ///< [T] int32: what follows each token of target_input
};

/// The pairs of a corpus with these indices.
PackedPairs pack_pairs(const text::ParallelCorpus& corpus, std::span<const int32_t> indices,
                       const model::ModelConfig& config);

/// Runs encoder, decoder and output layer; see linear_loss(). The model's output says which
/// loss it is, not loss.alpha.
at::Tensor pair_loss(const model::Transformer& model, const PackedPairs& pairs,
                     const model::ForwardOptions& options, const model::LossOptions& loss,
                     model::LossSums& sums);

/// The sum over what several threads counted.
model::LossSums total(const std::vector<model::LossSums>& parts);

}  // namespace filigree::train
