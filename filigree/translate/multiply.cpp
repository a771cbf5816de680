// Products with packed weights. A tile of the result, a few rows by a panel, stays in registers
// while the inputs go by.
#include <cstdint>

#include "filigree/translate/packed_matrix.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filigree/translate/multiply.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace filigree::translate {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, PackedMatrix::kPanel>;
using Vector = hn::Vec<Floats>;

constexpr int64_t kPanel = PackedMatrix::kPanel;
constexpr int64_t kLanes = hn::MaxLanes(Floats());
constexpr int kVectors = static_cast<int>(kPanel / kLanes);
/// Sums that leave registers for the weights: 24 of 32, or 12 of 16.
constexpr int kMostRows = HWY_MAX(1, (kLanes >= 16 ? 24 : 12) / kVectors);
/// Bytes that memory delivers in about the time that it takes to answer.
constexpr int64_t kAhead = 2048;

/// What a tile fetches while it computes, since processors do not look as far ahead by themselves:
/// `step` bytes for every input, from `from` on.
struct Fetch {
  const char* from;
  int64_t step;
};

/// The weights of a panel for one input, and for two that lie together.
HWY_INLINE void Load(const float* weights, Vector (&w)[1][kVectors]) {
  for (int v = 0; v < kVectors; ++v) w[0][v] = hn::LoadU(Floats(), weights + v * kLanes);
}
HWY_INLINE void Load(const int8_t* weights, Vector (&w)[1][kVectors]) {
  const hn::RebindToSigned<Floats> words;
  for (int v = 0; v < kVectors; ++v) {
    const auto bytes = hn::LoadU(hn::Rebind<int8_t, Floats>(), weights + v * kLanes);
    w[0][v] = hn::ConvertTo(Floats(), hn::PromoteTo(words, bytes));
  }
}
HWY_INLINE void Load(const uint16_t* weights, Vector (&w)[2][kVectors]) {
  const hn::RebindToUnsigned<Floats> words;
  for (int v = 0; v < kVectors; ++v) {
    const auto pairs =
        hn::LoadU(words, reinterpret_cast<const uint32_t*>(weights + 2 * v * kLanes));
    w[0][v] = hn::BitCast(Floats(), hn::ShiftLeft<16>(pairs));
    w[1][v] = hn::BitCast(Floats(), hn::And(pairs, hn::Set(words, 0xFFFF0000u)));
  }
}

/// sum += weights · one input of each row.
template <int kRows>
HWY_INLINE void AddInput(const float* x, int64_t stride, const Vector (&w)[kVectors],
                         Vector (&sum)[kRows][kVectors]) {
  for (int r = 0; r < kRows; ++r) {
    const Vector input = hn::Set(Floats(), x[r * stride]);
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(input, w[v], sum[r][v]);
  }
}

/// The first `columns` lanes of a vector of results.
HWY_INLINE void Write(Then then, Vector result, float* y, int64_t columns) {
  const Floats d;
  if (then == Then::kRelu) result = hn::Max(result, hn::Zero(d));
  if (columns >= kLanes) {
    if (then == Then::kAdd) result = hn::Add(result, hn::LoadU(d, y));
    return hn::StoreU(result, d, y);
  }
  HWY_ALIGN float lanes[kLanes];
  hn::Store(result, d, lanes);
  for (int64_t c = 0; c < columns; ++c) y[c] = then == Then::kAdd ? lanes[c] + y[c] : lanes[c];
}

/// Rows `row` … row + kRows − 1 of the product, in one panel.
template <class T, int kRows>
HWY_NOINLINE void Tile(const Product& p, int64_t row, int64_t panel, Fetch fetch) {
  const Floats d;
  const float* const x = p.x + row * p.x_stride;
  const auto* weights = static_cast<const T*>(p.matrix.panel(panel));

  Vector sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  constexpr int64_t kInputs = sizeof(T) == 2 ? 2 : 1;
  const int64_t inputs = p.matrix.inputs();
  for (int64_t i = 0; i < inputs; i += kInputs, weights += kInputs * kPanel) {
    __builtin_prefetch(fetch.from, 0, 3);
    if (fetch.step > 64) __builtin_prefetch(fetch.from + 64, 0, 3);
    fetch.from += fetch.step;
    Vector w[kInputs][kVectors];
    Load(weights, w);
    AddInput<kRows>(x + i, p.x_stride, w[0], sum);
    if constexpr (kInputs > 1) {
      if (i + 1 < inputs) AddInput<kRows>(x + i + 1, p.x_stride, w[1], sum);
    }
  }

  const float* const bias = p.matrix.bias(panel);
  const int64_t columns = p.matrix.outputs() - panel * kPanel;
  float* const y = p.y + row * p.y_stride + (panel - p.first_panel) * kPanel;
  for (int v = 0; v < kVectors && v * kLanes < columns; ++v) {
    const Vector b = hn::LoadU(d, bias + v * kLanes);
    for (int r = 0; r < kRows; ++r) {
      Vector result;
      if constexpr (sizeof(T) == 1) {
        result = hn::MulAdd(sum[r][v], hn::LoadU(d, p.matrix.scale(panel) + v * kLanes), b);
      } else {
        result = hn::Add(sum[r][v], b);
      }
      Write(p.then, result, y + r * p.y_stride + v * kLanes, columns - v * kLanes);
    }
  }
}

template <class T, int kRows = kMostRows>
HWY_INLINE void TileOf(int64_t rows, const Product& p, int64_t row, int64_t panel, Fetch fetch) {
  if (rows == kRows) return Tile<T, kRows>(p, row, panel, fetch);
  if constexpr (kRows > 1) TileOf<T, kRows - 1>(rows, p, row, panel, fetch);
}

template <class T>
void Multiply(const Product& p) {
  const int64_t end = p.panels < 0 ? p.matrix.panels() : p.first_panel + p.panels;
  // Equal tiles are faster than full ones with a small rest.
  const int64_t tiles = (p.rows + kMostRows - 1) / kMostRows;
  constexpr int64_t kInputs = sizeof(T) == 2 ? 2 : 1, kBytes = kInputs * kPanel * sizeof(T);
  for (int64_t panel = p.first_panel; panel < end; ++panel) {
    const auto* const weights = static_cast<const char*>(p.matrix.panel(panel));
    const auto* const next = static_cast<const char*>(p.matrix.panel(panel + 1));
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t row = t * p.rows / tiles, after = (t + 1) * p.rows / tiles;
      // One tile keeps a little ahead of itself; several share the fetching of the next panel.
      const Fetch fetch = tiles == 1 ? Fetch{weights + kAhead, kBytes}
                                     : Fetch{next + t * (next - weights) / tiles, kBytes / tiles};
      TileOf<T>(after - row, p, row, panel, fetch);
    }
  }
}

void MultiplyAny(const Product& p) {
  switch (p.matrix.precision()) {
    case Precision::kFloat32:
      return Multiply<float>(p);
    case Precision::kBfloat16:
      return Multiply<uint16_t>(p);
    case Precision::kInt8:
      return Multiply<int8_t>(p);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace filigree::translate
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace filigree::translate {

HWY_EXPORT(MultiplyAny);

void multiply_by_vectors(const Product& product) { HWY_DYNAMIC_DISPATCH(MultiplyAny)(product); }

}  // namespace filigree::translate
#endif  // HWY_ONCE
