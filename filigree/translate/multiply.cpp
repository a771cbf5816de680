// Products with packed weights. A tile of the result, a few rows by a panel or by several where the
// rows are very few, stays in registers while the inputs go by.
#include <algorithm>
#include <cstdint>
#include <type_traits>

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
/// Panels of a tile of so many rows. Few rows wait for memory, which delivers more from several
/// places at once.
constexpr int PanelsFor(int rows) {
  return 4 * rows <= kMostRows ? 4 : 2 * rows <= kMostRows ? 2 : 1;
}
/// Bytes that memory delivers in about the time that it takes to answer.
constexpr int64_t kAhead = 2048;

/// What a tile fetches while it computes, since processors do not look as far ahead by themselves:
/// `step` bytes for every input and panel, from `from` on, where panels lie `pitch` bytes apart.
/// From input `turn` on it is `jump` bytes further.
struct Fetch {
  const char* from;
  int64_t step;
  int64_t pitch = 0;
  int64_t turn = 0, jump = 0;
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

/// The sums of a tile in one panel, after the last input.
template <class T, int kRows>
HWY_INLINE void Finish(const Product& p, int64_t row, int64_t panel,
                       const Vector (&sum)[kRows][kVectors]) {
  const Floats d;
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

/// Inputs that lie together, and the bytes of their weights in a panel.
template <class T>
constexpr int64_t Together() {
  return sizeof(T) == 2 ? 2 : 1;
}
template <class T>
constexpr int64_t Bytes() {
  return Together<T>() * kPanel * static_cast<int64_t>(sizeof(T));
}

/// Rows `row` … row + kRows − 1 of the product, in kPanels panels from `panel` on.
template <class T, int kRows, int kPanels>
HWY_NOINLINE void Tile(const Product& p, int64_t row, int64_t panel, Fetch fetch) {
  constexpr int64_t kInputs = Together<T>();
  const float* const x = p.x + row * p.x_stride;
  const auto* weights = static_cast<const T*>(p.matrix.panel(panel));
  const int64_t pitch = static_cast<const T*>(p.matrix.panel(panel + 1)) - weights;

  Vector sum[kPanels][kRows][kVectors];
  for (int s = 0; s < kPanels; ++s) {
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) sum[s][r][v] = hn::Zero(Floats());
    }
  }
  const int64_t inputs = p.matrix.inputs();
  for (int64_t begin = 0, end = fetch.turn; begin < inputs; begin = end, end = inputs) {
    for (int64_t i = begin; i < end; i += kInputs, weights += kInputs * kPanel) {
      for (int s = 0; s < kPanels; ++s) {
        __builtin_prefetch(fetch.from + s * fetch.pitch, 0, 3);
        if (fetch.step > 64) __builtin_prefetch(fetch.from + s * fetch.pitch + 64, 0, 3);
        Vector w[kInputs][kVectors];
        Load(weights + s * pitch, w);
        AddInput<kRows>(x + i, p.x_stride, w[0], sum[s]);
        if constexpr (kInputs > 1) {
          if (i + 1 < inputs) AddInput<kRows>(x + i + 1, p.x_stride, w[1], sum[s]);
        }
      }
      fetch.from += fetch.step;
    }
    fetch.from += fetch.jump;
  }
  for (int s = 0; s < kPanels; ++s) Finish<T, kRows>(p, row, panel + s, sum[s]);
}

/// A tile that is alone in its panels keeps a little ahead of itself, at the end in the panels that
/// follow.
template <class T, int kPanels>
Fetch AheadOf(const Product& p, int64_t panel) {
  const auto* const weights = static_cast<const char*>(p.matrix.panel(panel));
  const int64_t pitch = static_cast<const char*>(p.matrix.panel(panel + 1)) - weights;
  constexpr int64_t kLead = kAhead / kPanels;
  const int64_t turn = std::max<int64_t>((pitch - kLead) / Bytes<T>(), 0) * Together<T>();
  return {weights + kLead, Bytes<T>(), pitch, std::min(turn, p.matrix.inputs()),
          (kPanels - 1) * pitch};
}

/// All panels, with the rows of one tile.
template <class T, int kRows>
HWY_INLINE void OneTile(const Product& p, int64_t end) {
  constexpr int kPanels = PanelsFor(kRows);
  int64_t panel = p.first_panel;
  for (; panel + kPanels <= end; panel += kPanels) {
    Tile<T, kRows, kPanels>(p, 0, panel, AheadOf<T, kPanels>(p, panel));
  }
  for (; panel < end; ++panel) Tile<T, kRows, 1>(p, 0, panel, AheadOf<T, 1>(p, panel));
}

/// Calls what(rows) with a constant.
template <int kRows = kMostRows, class What>
HWY_INLINE void WithConstant(int64_t rows, const What& what) {
  if (rows == kRows) return what(std::integral_constant<int, kRows>());
  if constexpr (kRows > 1) WithConstant<kRows - 1>(rows, what);
}

template <class T>
void Multiply(const Product& p) {
  const int64_t end = p.panels < 0 ? p.matrix.panels() : p.first_panel + p.panels;
  // Equal tiles are faster than full ones with a small rest.
  const int64_t tiles = (p.rows + kMostRows - 1) / kMostRows;
  if (tiles == 1) {
    return WithConstant(p.rows, [&](auto rows) HWY_ATTR { OneTile<T, rows>(p, end); });
  }
  for (int64_t panel = p.first_panel; panel < end; ++panel) {
    const auto* const weights = static_cast<const char*>(p.matrix.panel(panel));
    const auto* const next = static_cast<const char*>(p.matrix.panel(panel + 1));
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t row = t * p.rows / tiles, after = (t + 1) * p.rows / tiles;
      // The tiles of a panel share the fetching of the next.
      const Fetch fetch{next + t * (next - weights) / tiles, Bytes<T>() / tiles};
      WithConstant(after - row,
                   [&](auto rows) HWY_ATTR { Tile<T, rows, 1>(p, row, panel, fetch); });
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
