// Products in bfloat16 on the matrix unit of recent Intel processors (AMX): 16 times the work of a
// vector instruction.
#pragma once

#include "filigree/translate/packed_matrix.h"

namespace filigree::translate {

/// multiply() for a matrix in bfloat16, with inputs rounded to bfloat16 and float32 sums. Only
/// where amx_available(). A row's result does not depend on the other rows.
void multiply_amx(const Product& product);

}  // namespace filigree::translate
