// OpenBLAS as the process finds it: its own threads, and its choice of kernels.
#pragma once

namespace filigree {

/// How many threads one product may use. Debian's pthread build does not listen to OpenMP's or
/// LibTorch's settings. Also calls use_fast_blas_kernels(). Without OpenBLAS it does nothing.
void set_blas_threads(int threads);

/// An OpenBLAS older than the processor falls back to kernels for one of 2004, four times slower.
/// Where it did so, makes it use those for the widest vectors that the processor has, unless the
/// variable OPENBLAS_CORETYPE says what to use. Call it before the first product.
void use_fast_blas_kernels();

}  // namespace filigree
