// Matrix products with what surrounds them: bias, ReLU and the sums that are a bias's gradient. The
// products of a training step are many rows by 128 to 1024 columns; a general BLAS copies both
// operands of such a product, and what comes before and after it takes passes of its own.
//
// No torch; one thread. An entry of the result is summed up in the same order whatever rows are
// computed with it, so that a row has the same bits in any batch.
#pragma once

#include <hwy/aligned_allocator.h>

#include <cstdint>

#include "filigree/model/kernels/precision.h"

namespace filigree::model {

/// Entry (i, j) is data[i · row_step + j · column_step]; one of the steps is 1.
template <typename T>
struct Matrix {
  const T* data;
  int64_t rows, columns;
  int64_t row_step, column_step = 1;

  Matrix transposed() const { return {data, columns, rows, column_step, row_step}; }
};

/// Whether products of a precision are made here, by tile_product.h: of kBfloat16x3 with AMX, of
/// kBfloat16 with AMX or AVX512-BF16. Where they are not, Strips takes the precision for kFloat32.
bool has_tile_products(Precision precision);

/// The right operand of products, in the order in which it is multiplied: cut into strips as wide
/// as a vector, or into tiles of a lower precision. Filled once and used for many left operands;
/// filling again keeps the memory.
template <typename T>
class Strips {
 public:
  Strips() = default;
  /// The precision of the products; those of float64 matrices are always exact.
  explicit Strips(const Matrix<T>& matrix, Precision precision = Precision::kFloat32) {
    fill(matrix, precision);
  }
  void fill(const Matrix<T>& matrix, Precision precision = Precision::kFloat32);

  const T* data() const { return data_.get(); }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  Precision precision() const { return precision_; }

 private:
  hwy::AlignedFreeUniquePtr<T[]> data_;
  int64_t room_ = 0, rows_ = 0, columns_ = 0;
  Precision precision_ = Precision::kFloat32;
};

/// What is done to a product P before it is stored, in this order.
template <typename T>
struct Finish {
  T scale = 1;               ///< P · scale
  bool accumulate = false;   ///< P + what the result held
  const T* bias = nullptr;   ///< [columns], added to every row
  bool relu = false;         ///< max(P, 0)
  const T* where = nullptr;  ///< of the result's layout: P is 0 where this is not above 0
};

/// result = a · b, rows `result_step` apart. row_sums (may be null): [a.rows], to which the sums of
/// the rows of a are added; a.row_step must be 1 then.
template <typename T>
void multiply(const Matrix<T>& a, const Strips<T>& b, T* result, int64_t result_step,
              const Finish<T>& finish = {}, T* row_sums = nullptr);

}  // namespace filigree::model
