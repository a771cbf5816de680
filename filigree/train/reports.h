// What a training tells while it runs: the log, metrics.jsonl, TensorBoard's files, and a bar on a
// terminal. Only the first worker has the last three.
#pragma once

#include <optional>

#include "filigree/base/progress.h"
#include "filigree/train/metrics.h"
#include "filigree/train/tensorboard.h"
#include "filigree/train/training.h"
#include "filigree/train/validation.h"

namespace filigree::train {

class Reports {
 public:
  /// `training` must outlive this.
  explicit Reports(const Training& training);

  /// Redraws the bar.
  void show_progress();
  /// The mean over `training.progress.recent`.
  void training_report();
  /// best: these weights are the best so far.
  void validation_report(const Validation& validation, const model::Transformer& model, bool best);
  /// The training went back to an older checkpoint: withdraws what files say of later steps.
  void go_back();
  /// Removes the bar, so that a log line can be printed.
  void clear_bar();

 private:
  void open_files();

  const Training& training_;
  std::optional<MetricsFile> metrics_;
  std::optional<TensorBoard> tensorboard_;
  std::optional<ProgressBar> bar_;
};

}  // namespace filigree::train
