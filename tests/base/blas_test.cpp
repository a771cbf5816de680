#include "filigree/base/blas.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace filigree {
namespace {

// This program has no OpenBLAS; programs that have it are those of the model's tests.
TEST(Blas, WithoutOpenBlasNothingHappens) {
  unsetenv("OPENBLAS_CORETYPE");
  set_blas_threads(1);
  use_fast_blas_kernels();
  EXPECT_EQ(std::getenv("OPENBLAS_CORETYPE"), nullptr);
}

}  // namespace
}  // namespace filigree
