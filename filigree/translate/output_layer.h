// The output layer of a step: logits, what normalises them, and where the large ones are, taken
// block by block while the numbers are in the cache.
#pragma once

#include <cstdint>

#include "filigree/translate/packed_matrix.h"
#include "filigree/translate/step_function.h"

namespace filigree::translate {

/// Scores the next tokens of hidden states x [rows, D]. alpha: of the output's α-entmax, 1 for
/// softmax.
void score_tokens(const PackedMatrix& output, double alpha, const float* x, int64_t rows,
                  StepScores& scores);

}  // namespace filigree::translate
