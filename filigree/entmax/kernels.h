// α-entmax of rows in memory, vectorised, without LibTorch. The instruction set (AVX-512, AVX2,
// SSE, NEON, …) is chosen once, at run time.
//
// For scores z and α ≥ 1, p is the distribution with p_i = [(α−1) z_i − τ]_+^{1/(α−1)} and Σp = 1;
// α = 1 is softmax, α = 2 is sparsemax. A score of −inf is masked: its p is 0. A row with every
// entry masked gives zeros. A NaN makes its own row NaN and touches no other. Scores of +inf
// share the whole mass equally. Any finite magnitude is safe.
//
// Every function may be called from several threads at once, and none allocates per row. A row
// gives the same bits whatever rows are beside it; `size` and α alone choose the way it is
// computed.
#pragma once

#include <cstdint>

namespace filigree::entmax_kernels {

/// A block of rows: `rows` rows of `size` scores, consecutive rows `stride` elements apart.
struct Rows {
  int64_t rows;
  int64_t size;
  int64_t stride;
  /// May be null. Otherwise row r uses its first lengths[r] entries only (0 … size); the rest
  /// counts as masked: it is never read, and p and gradients are written as 0 there.
  const int32_t* lengths = nullptr;
  /// Positive. The scores are multiplied by it before anything else, as those of attention are by
  /// 1/√d; τ is that of the products, dz the gradient of the scores as given.
  double scale = 1;
};

/// p = α-entmax(z) of every row, one finite α ≥ 1 for the block. In place allowed (p == z).
/// tau (one per row, may be null): the threshold τ above, for unshifted scores. For α = 1, where
/// that threshold says nothing, it is log Σ exp z: p_i = exp(z_i − τ). +inf for a row that is
/// masked throughout.
/// support (one per row, may be null): the number of entries with p > 0.
void forward(Rows shape, const float* z, double alpha, float* p, float* tau = nullptr,
             int64_t* support = nullptr);
void forward(Rows shape, const double* z, double alpha, double* p, double* tau = nullptr,
             int64_t* support = nullptr);

/// p with an α ≥ 1 for every row, as attention heads have: rows of several α share the vectors. A
/// row gives the bits that it gives with one α.
void forward_by_row(Rows shape, const float* z, const double* alpha, float* p);

/// dz, the gradient with respect to the scores, from p and its cotangent dp. In place allowed
/// (dz == dp). With s_i = p_i^{2−α} on the support and δ = ⟨s, dp⟩ / Σs: dz = s (dp − δ).
/// dalpha (one per row, may be null): Σ_i dp_i ∂p_i/∂α, without cancellation as α → 1; at α = 1
/// it is the limit from above.
void backward(Rows shape, const float* p, const float* dp, double alpha, float* dz,
              double* dalpha = nullptr);
void backward(Rows shape, const double* p, const double* dp, double alpha, double* dz,
              double* dalpha = nullptr);

}  // namespace filigree::entmax_kernels
