// Products of float32 matrices by instructions that multiply bfloat16. A float32 number is split
// into a bfloat16, which has its first 8 bits, a second one for the next 8, and a rest of at most
// 2⁻¹⁶ of it, which is dropped. The product of two such sums is taken without the product of both
// second parts, which is as small as what was dropped: three products (Henry, Tang and Heinecke,
// 2019; XLA's BF16_BF16_F32_X3). With one part a number the product is that of rounded operands.
//
// AMX does both; the vectors of AVX512-BF16, twice as fast as those of float32, only the latter.
// Sums are float32. No torch; one thread; only where has_tile_products(precision).
#pragma once

#include <cstdint>

#include "filigree/model/kernels/matrix_product.h"

namespace filigree::model {

/// How many 16-bit numbers the right operand takes.
int64_t tiles_size(const Matrix<float>& matrix, Precision precision);

/// The right operand, split and in the order in which it is multiplied; precision is not kFloat32.
void fill_tiles(const Matrix<float>& matrix, Precision precision, uint16_t* tiles);

/// multiply() by what fill_tiles() filled for a matrix of `columns` columns. An operand that is not
/// finite makes the entries it takes part in not finite.
void multiply_tiles(const Matrix<float>& a, const uint16_t* tiles, int64_t columns,
                    Precision precision, float* result, int64_t result_step,
                    const Finish<float>& finish, float* row_sums);

}  // namespace filigree::model
