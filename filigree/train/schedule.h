// The learning rate as a function of the update's number.
#pragma once

#include <cstdint>

#include "filigree/train/options.h"

namespace filigree::train {

/// step counts from 1. d_model matters to `noam` only (Vaswani et al., 2017, eq. 3).
double learning_rate(const TrainOptions& options, int64_t step);

}  // namespace filigree::train
