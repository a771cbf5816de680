// The number format of matrix products in training. Weights, sums and everything between products
// stay as they are.
#pragma once

namespace filigree::model {

enum class Precision {
  kFloat32,     ///< products in the type of their operands
  kBfloat16x3,  ///< of float32 operands: their first 16 bits, by three products of bfloat16 numbers
  kBfloat16,    ///< operands rounded to bfloat16 (8 bits), sums in float32
};

}  // namespace filigree::model
