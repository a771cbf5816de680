// Dropout, residual and layer norm, row by row in one pass over memory, and all of it back in one.
// No torch; one thread.
#pragma once

#include <cstdint>

namespace filigree::model {

/// Rows of `width` entries: sum = residual + dropout(branch), normed = (sum − mean) / √(variance +
/// ε) · weight + bias, with the mean and the variance of a row's entries.
template <typename T>
struct AddNorm {
  int64_t rows, width;
  const T *weight, *bias;  ///< [width]
  double epsilon;
  double dropout = 0;  ///< probability in [0, 1) of an entry of the branch to be dropped
  uint64_t dropout_key = 0;
};

/// branch may be null: then the residual is normed and `sum` is not written. statistics
/// [rows, 2] (may be null): a row's mean and 1 / √(variance + ε), for the way back.
template <typename T>
void add_norm(const AddNorm<T>& shape, const T* branch, const T* residual, T* sum, T* normed,
              T* statistics);

/// d_sum (may be null) is the cotangent of `sum` where that is used besides the norm. Writes
/// d_residual, and d_branch unless that is null, as it may be without dropout, when the two are the
/// same; adds to d_weight and d_bias.
template <typename T>
void add_norm_backward(const AddNorm<T>& shape, const T* sum, const T* statistics,
                       const T* d_normed, const T* d_sum, T* d_branch, T* d_residual, T* d_weight,
                       T* d_bias);

}  // namespace filigree::model
