// Averages of weights: of several checkpoints of one training, or of several models.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "filigree/train/options.h"

namespace filigree::train {

/// The newest `count` checkpoints of a training, newest first. Throws Error when there are fewer.
std::vector<std::filesystem::path> newest_checkpoints(const std::filesystem::path& directory,
                                                      int64_t count);

/// The `count` checkpoints that did best in validation according to metrics.jsonl, best first, the
/// newer one of two equals. Throws Error when fewer of those that are left were validated, or when
/// a validation lacks the metric.
std::vector<std::filesystem::path> best_checkpoints(const std::filesystem::path& directory,
                                                    int64_t count, StoppingMetric metric);

/// Writes a new model directory whose weights are the mean of those of `inputs`, summed in float64:
/// model directories, or checkpoints (step_NNNNNNNNN/), whose config and tokenizers are those of
/// the folder above, and whose weights are those that were validated. The search defaults are the
/// first one's. Throws Error in one line, before anything is written, when `output` exists and is
/// not empty, or when an input is damaged or has another architecture, vocabulary, or tensor shape
/// than the first; `output` appears whole or not at all.
void average_models(const std::vector<std::filesystem::path>& inputs,
                    const std::filesystem::path& output);

}  // namespace filigree::train
