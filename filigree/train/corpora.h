// The text that a training works on, ready for use: tokenizers, training pairs, validation pairs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "filigree/model/model_directory.h"
#include "filigree/text/batch_stream.h"
#include "filigree/text/corpus_report.h"
#include "filigree/text/pair_store.h"
#include "filigree/train/options.h"
#include "filigree/train/worker_group.h"

namespace filigree::train {

struct ValidationSet {
  text::ParallelCorpus corpus;               ///< all pairs, for the loss
  std::vector<std::vector<int>> source_ids;  ///< of all pairs, for translation
  std::vector<std::string> references;
};

/// The model directory's tokenizers when it has some (a training goes on), those that --vocabs
/// names, those of the model that --init-from names, or new ones trained on the training sets.
model::Tokenizers prepare_tokenizers(const TrainOptions& options, bool resuming);

/// Sets the vocabulary's fields.
void set_vocabulary(model::ModelConfig& config, const model::Tokenizers& tokenizers);

/// The training sets, tokenised and filtered, from the cache when it has them; the report is what
/// became of the lines.
text::PairStore open_training_sets(const TrainOptions& options, const model::Tokenizers& tokenizers,
                                   text::CorpusReport& report);

/// What the training asks for its batches. Throws UsageError when the vocabularies do not allow the
/// subword regularisation that the options ask for.
std::unique_ptr<text::BatchStream> make_batch_stream(const TrainOptions& options,
                                                     const model::Tokenizers& tokenizers,
                                                     text::PairStore store, uint64_t seed);

/// Throws UsageError when a set is a pipe or standard input, which several workers cannot all read.
void require_files(const TrainOptions& options);

/// Throws Error, in all workers, when they were not given the same text and options.
/// valid_pairs: of the validation set.
void require_agreement(const TrainOptions& options, const text::PairStore& store,
                       int64_t valid_pairs, WorkerGroup& group);

/// Nothing when no validation set was given. Pairs with an empty side are no part of it.
std::optional<ValidationSet> read_validation_set(const TrainOptions& options,
                                                 const model::Tokenizers& tokenizers);

}  // namespace filigree::train
