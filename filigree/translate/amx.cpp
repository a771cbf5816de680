#include "filigree/translate/amx.h"

#if defined(__x86_64__) && defined(__linux__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "filigree/base/amx.h"

namespace filigree::translate {
namespace {

/// Rows of a tile, and its columns of float32: a panel is two tiles wide.
constexpr int64_t kTile = 16, kPanel = PackedMatrix::kPanel;
/// Inputs that one instruction takes in.
constexpr int64_t kDepth = 32;
static_assert(kPanel == 2 * kTile && PackedMatrix::kBfloat16Inputs == kDepth);

/// Rounds rows to bfloat16, with zeros behind up to a whole number of tiles and steps.
FILIGREE_AMX const uint16_t* round_inputs(const Product& p, int64_t inputs) {
  thread_local std::vector<uint16_t> rounded;
  const int64_t rows = (p.rows + kTile - 1) / kTile * kTile;
  if (rounded.size() < static_cast<size_t>(rows * inputs)) {
    rounded.resize(static_cast<size_t>(rows * inputs));
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < inputs; i += kTile) {
      const int64_t left = r < p.rows ? std::clamp<int64_t>(p.matrix.inputs() - i, 0, kTile) : 0;
      const __m512 values = _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << left) - 1),
                                                  p.x + (left > 0 ? r * p.x_stride + i : 0));
      const __m256bh halves = _mm512_cvtneps_pbh(values);
      std::memcpy(rounded.data() + r * inputs + i, &halves, sizeof(halves));
    }
  }
  return rounded.data();
}

FILIGREE_AMX void finish_row(Then then, const float* sums, const float* bias, int64_t columns,
                             float* y) {
  for (int64_t c = 0; c < columns; c += kTile) {
    const auto mask = static_cast<__mmask16>((1u << std::min(columns - c, kTile)) - 1);
    __m512 value = _mm512_add_ps(_mm512_loadu_ps(sums + c), _mm512_loadu_ps(bias + c));
    if (then == Then::kRelu) value = _mm512_maskz_max_ps(0xFFFF, value, _mm512_setzero_ps());
    if (then == Then::kAdd) value = _mm512_add_ps(value, _mm512_maskz_loadu_ps(mask, y + c));
    _mm512_mask_storeu_ps(y + c, mask, value);
  }
}

FILIGREE_AMX void fetch_ahead(const uint16_t* weights) {
  constexpr int64_t kAhead = 4 * kDepth * kPanel;
  for (int64_t i = 0; i < kDepth * kPanel; i += 32) {
    _mm_prefetch(reinterpret_cast<const char*>(weights + kAhead + i), _MM_HINT_T0);
  }
}

/// sums [32 rows, kPanel] = x · a panel's weights, of which only the first 16 rows without kBoth.
template <bool kBoth>
FILIGREE_AMX void panel_sums(const uint16_t* x, int64_t inputs, const uint16_t* weights, bool fetch,
                             float* sums) {
  const auto stride = static_cast<size_t>(inputs) * sizeof(uint16_t);
  constexpr size_t kWeightStride = 2 * kPanel * sizeof(uint16_t);
  constexpr size_t kSumStride = kPanel * sizeof(float);
  _tile_zero(0);
  _tile_zero(1);
  if constexpr (kBoth) {
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t i = 0; i < inputs; i += kDepth, weights += kDepth * kPanel) {
    if (fetch) fetch_ahead(weights);
    _tile_loadd(4, x + i, stride);
    _tile_loadd(6, weights, kWeightStride);
    _tile_loadd(7, weights + 2 * kTile, kWeightStride);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (kBoth) {
      _tile_loadd(5, x + kTile * inputs + i, stride);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
  }
  _tile_stored(0, sums, kSumStride);
  _tile_stored(1, sums + kTile, kSumStride);
  if constexpr (kBoth) {
    _tile_stored(2, sums + kTile * kPanel, kSumStride);
    _tile_stored(3, sums + kTile * kPanel + kTile, kSumStride);
  }
}

}  // namespace

FILIGREE_AMX void multiply_amx(const Product& p) {
  const int64_t inputs = (p.matrix.inputs() + kDepth - 1) / kDepth * kDepth;
  const uint16_t* const x = round_inputs(p, inputs);
  const int64_t end = p.panels < 0 ? p.matrix.panels() : p.first_panel + p.panels;
  alignas(64) float sums[2 * kTile * kPanel];
  const TileShapes shapes;
  _tile_loadconfig(&shapes);
  for (int64_t panel = p.first_panel; panel < end; ++panel) {
    const auto* const weights = static_cast<const uint16_t*>(p.matrix.panel(panel));
    const int64_t columns = std::min(kPanel, p.matrix.outputs() - panel * kPanel);
    for (int64_t row = 0; row < p.rows; row += 2 * kTile) {
      const bool both = p.rows - row > kTile;
      (both ? panel_sums<true> : panel_sums<false>)(x + row * inputs, inputs, weights, row == 0,
                                                    sums);
      for (int64_t r = row; r < std::min(row + 2 * kTile, p.rows); ++r) {
        finish_row(p.then, sums + (r - row) * kPanel, p.matrix.bias(panel), columns,
                   p.y + r * p.y_stride + (panel - p.first_panel) * kPanel);
      }
    }
  }
  _tile_release();
}

}  // namespace filigree::translate

#else

namespace filigree::translate {

void multiply_amx(const Product&) {}

}  // namespace filigree::translate

#endif
