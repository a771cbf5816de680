// The reports of metrics.jsonl for TensorBoard: events.out.tfevents.* in the model directory.
#pragma once

#include <filesystem>
#include <string>

#include "filigree/train/metrics.h"

namespace filigree::train {

class TensorBoard {
 public:
  /// Begins a new file in `directory`, for a training that goes on after `step`: what older files
  /// say of later steps no longer counts.
  TensorBoard(const std::filesystem::path& directory, int64_t step);

  void write(const TrainingReport& report);
  /// With α and density of every head.
  void write(const ValidationReport& report, const model::Transformer& model,
             const model::AttentionCounts& counts);

 private:
  void append(const std::string& event);

  std::filesystem::path path_;
};

}  // namespace filigree::train
