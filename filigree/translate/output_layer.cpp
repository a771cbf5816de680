#include "filigree/translate/output_layer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "filigree/entmax/kernels.h"
#include "filigree/translate/row_kernels.h"

namespace filigree::translate {
namespace {

/// Logits to log p, −∞ where p is 0.
void to_log_probabilities(StepScores& scores, int row, double alpha) {
  thread_local std::vector<float> p;
  const int size = scores.vocabulary();
  p.resize(static_cast<size_t>(size));
  float* const values = scores.values(row);
  entmax_kernels::forward({1, size, size}, values, alpha, p.data());
  bool number = true;
  for (int i = 0; i < size; ++i) {
    number &= !std::isnan(p[static_cast<size_t>(i)]);
    values[i] = p[static_cast<size_t>(i)] == 0 ? -std::numeric_limits<float>::infinity()
                                               : std::log(p[static_cast<size_t>(i)]);
  }
  scores.log_normaliser(row) = number ? 0 : std::numeric_limits<float>::quiet_NaN();
  scores.find_block_maxima(row);
}

}  // namespace

void score_tokens(const PackedMatrix& output, double alpha, const float* x, int64_t rows,
                  StepScores& scores) {
  // Panels whose logits are taken together.
  constexpr int64_t kPanels = 8, kColumns = kPanels * PackedMatrix::kPanel;
  static_assert(kColumns % StepScores::kBlock == 0);
  const int64_t size = output.outputs();
  scores.resize(static_cast<int>(rows), static_cast<int>(size));
  thread_local std::vector<LogSumExp> sums;
  sums.assign(static_cast<size_t>(rows), {});
  for (int64_t panel = 0; panel < output.panels(); panel += kPanels) {
    const int64_t column = panel * PackedMatrix::kPanel;
    multiply({output, x, output.inputs(), rows, scores.values(0) + column, size, Then::kWrite,
              panel, std::min(kPanels, output.panels() - panel)});
    if (alpha != 1) continue;
    for (int r = 0; r < static_cast<int>(rows); ++r) {
      sums[static_cast<size_t>(r)].add(scores.values(r) + column, std::min(kColumns, size - column),
                                       StepScores::kBlock,
                                       scores.block_maxima(r) + column / StepScores::kBlock);
    }
  }
  for (int r = 0; r < static_cast<int>(rows); ++r) {
    if (alpha == 1) {
      scores.log_normaliser(r) = static_cast<float>(sums[static_cast<size_t>(r)].value());
    } else {
      to_log_probabilities(scores, r, alpha);
    }
  }
}

}  // namespace filigree::translate
