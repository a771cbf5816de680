#include <ATen/ops/zeros.h>

#include "filigree/entmax/entmax.h"

// Uses the operators from the shared library.
int main() {
  const at::Tensor p = filigree::entmax(at::zeros({1, 2}), 1.5);
  return p.data_ptr<float>()[1] == 0.5f ? 0 : 1;
}
