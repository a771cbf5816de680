// What a training is about to do, told before its first update.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "filigree/train/data_checks.h"
#include "filigree/train/options.h"

namespace filigree::train {

struct Summary {
  int64_t parameters = 0;
  int64_t trained = 0;           ///< of the parameters; the others are frozen
  int threads = 1;               ///< of this process
  int workers = 1;               ///< processes
  bool averages = false;         ///< keeps an average of the weights
  int64_t peak_bytes = 0;        ///< of the process, after one trial update
  int64_t pairs = 0;             ///< training pairs
  int64_t tokens_per_epoch = 0;  ///< target tokens, with </s>
  int64_t batches_per_epoch = 0;
  int64_t steps = 0;            ///< of the whole training; 0 when it ends by its validations
  double seconds_per_step = 0;  ///< of a trial update
  DataChecks data;
};

/// Bytes of weights, gradients of every thread, moments and average.
int64_t state_bytes(const Summary& summary);

/// Several lines, such as "parameters  2,349,616".
std::string to_text(const Summary& summary);

/// Options that do not fit the length of the training (0: not known) or are far from what works:
/// one line each.
std::vector<std::string> warnings(const TrainOptions& options, int64_t steps);

}  // namespace filigree::train
