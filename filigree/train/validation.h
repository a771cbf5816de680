// How good a model is on the validation set: the loss with gold targets, and BLEU and chrF of
// its own translations.
#pragma once

#include <optional>

#include "filigree/model/transformer.h"
#include "filigree/train/corpora.h"
#include "filigree/train/metrics.h"
#include "filigree/train/options.h"
#include "filigree/train/worker_group.h"

namespace filigree::train {

struct Validation {
  ValidationReport report;           ///< without step and epoch
  model::AttentionCounts attention;  ///< over the set with gold targets, without dropout
};

/// Runs on `threads` threads, and the other workers of the group on theirs: each takes a share, and
/// all get the same result; all get nothing when a signal to any of them (see SignalGuard) came
/// before the end. `tokenizer` is the target's.
std::optional<Validation> run_validation(const model::Transformer& model, const ValidationSet& set,
                                         const text::Tokenizer& tokenizer,
                                         const TrainOptions& options, int threads,
                                         WorkerGroup& group);

/// The stopping metric's value, higher is better.
double stopping_score(const ValidationReport& report, StoppingMetric metric);

}  // namespace filigree::train
