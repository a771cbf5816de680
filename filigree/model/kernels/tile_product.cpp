#include "filigree/model/kernels/tile_product.h"

#if defined(__x86_64__)
// GCC 12 takes what its own headers leave undefined on purpose for a mistake.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <hwy/aligned_allocator.h>
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "filigree/base/amx.h"

#define FILIGREE_AMX_INLINE FILIGREE_AMX __attribute__((always_inline)) inline

namespace filigree::model {
namespace {

/// A tile holds 16 rows of 32 numbers of the left operand; of the right one 16 columns of 32
/// numbers, by pairs: row p has numbers 2p and 2p + 1 of every column. Both are 16 by 16 units of
/// 32 bits, one the transpose of the other.
constexpr int64_t kTile = 16, kUnits = 16, kTileDepth = 32, kTileSize = kTile * kTileDepth;
/// The result is computed by blocks of two by two tiles.
constexpr int64_t kBlock = 2 * kTile;
/// What is multiplied between two visits to the result: kBlock columns at this depth stay in the
/// first-level cache beside the tiles that stream by, kLeftRows rows in the second.
constexpr int64_t kDepth = 512, kLeftRows = 512;

constexpr int64_t blocks(int64_t size, int64_t block) { return (size + block - 1) / block; }

int parts_of(Precision precision) { return precision == Precision::kBfloat16x3 ? 2 : 1; }

__mmask16 mask_of(int64_t count) {
  return static_cast<__mmask16>((1u << std::clamp<int64_t>(count, 0, 16)) - 1);
}

/// Rows of the left operand or columns of the right one: (line, i) is at
/// data[line · line_step + i · depth_step].
struct Lines {
  const float* data;
  int64_t lines, depth, line_step, depth_step;
};

FILIGREE_AMX_INLINE __m512 widened(__m256i bfloat16) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bfloat16), 16));
}

/// 32 numbers into their parts.
template <int kParts>
FILIGREE_AMX_INLINE void split(__m512 low, __m512 high, __m512i (&parts)[kParts]) {
  for (int part = 0; part < kParts; ++part) {
    const __m512i rounded = (__m512i)_mm512_cvtne2ps_pbh(high, low);
    parts[part] = rounded;
    if (part + 1 == kParts) break;
    low = _mm512_sub_ps(low, widened(_mm512_castsi512_si256(rounded)));
    high = _mm512_sub_ps(high, widened(_mm512_extracti64x4_epi64(rounded, 1)));
  }
}

FILIGREE_AMX_INLINE void transpose(__m512i (&v)[kUnits]) {
  __m512i t[kUnits];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    v[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    v[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    v[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    v[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0xDD);
    t[i + 8] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0xDD);
  }
  for (int i = 0; i < 8; ++i) {
    v[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    v[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xDD);
  }
}

/// How far ahead of a tile memory is fetched: processors follow fewer streams than a tile has lines.
constexpr int64_t kAhead = 4 * kTileDepth;

/// One tile of every part, kBlock · kTileDepth apart, zero beyond the lines and the depth. kPairs:
/// of the right operand. sums (may be null; depth_step is not 1 then): [lines], added to.
template <int kParts, bool kPairs>
FILIGREE_AMX void fill_tile(const Lines& from, uint16_t* tile, float* sums) {
  __m512i units[kParts][kUnits];
  const bool by_lines = from.depth_step == 1;
  const __mmask16 lines = mask_of(from.lines);
  __m512 total = sums ? _mm512_maskz_loadu_ps(lines, sums) : _mm512_setzero_ps();
  // Numbers of two depths, first those of one and then those of the other, to pairs.
  const __m512i interleave =
      _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                       21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  for (int64_t u = 0; u < kUnits; ++u) {
    __m512 low = _mm512_setzero_ps(), high = low;
    if (by_lines && u < from.lines) {
      const float* const line = from.data + u * from.line_step;
      _mm_prefetch(line + kAhead, _MM_HINT_T0);
      _mm_prefetch(line + kAhead + 16, _MM_HINT_T0);
      low = _mm512_maskz_loadu_ps(mask_of(from.depth), line);
      high = _mm512_maskz_loadu_ps(mask_of(from.depth - 16), line + 16);
    } else if (!by_lines) {
      const float* const depth = from.data + 2 * u * from.depth_step;
      _mm_prefetch(depth + kAhead, _MM_HINT_T0);
      _mm_prefetch(depth + from.depth_step + kAhead, _MM_HINT_T0);
      if (2 * u < from.depth) low = _mm512_maskz_loadu_ps(lines, depth);
      if (2 * u + 1 < from.depth) high = _mm512_maskz_loadu_ps(lines, depth + from.depth_step);
      total = _mm512_add_ps(total, _mm512_add_ps(low, high));
    }
    __m512i parts[kParts];
    split(low, high, parts);
    for (int part = 0; part < kParts; ++part) {
      units[part][u] = by_lines ? parts[part] : _mm512_permutexvar_epi16(interleave, parts[part]);
    }
  }
  for (int part = 0; part < kParts; ++part, tile += kBlock * kTileDepth) {
    if (by_lines == kPairs) transpose(units[part]);
    for (int64_t u = 0; u < kUnits; ++u) _mm512_store_si512(tile + u * 32, units[part][u]);
  }
  if (sums) _mm512_mask_storeu_ps(sums, lines, total);
}

/// to: [blocks of kBlock lines][kTileDepth at a time][kParts][2] tiles.
template <int kParts, bool kPairs>
FILIGREE_AMX void fill(const Lines& from, uint16_t* to, float* sums) {
  const int64_t depths = blocks(from.depth, kTileDepth);
  const int64_t tiles = blocks(from.lines, kBlock) * 2;
  // Memory is read in the order in which it lies.
  const bool by_lines = from.depth_step == 1;
  const int64_t outer = by_lines ? tiles : depths, inner = by_lines ? depths : tiles;
  for (int64_t i = 0; i < outer; ++i) {
    for (int64_t j = 0; j < inner; ++j) {
      const int64_t tile = by_lines ? i : j, k = by_lines ? j : i, line = tile * kTile;
      // Beyond the lines there is nothing to point to.
      const bool some = line < from.lines;
      const Lines part{
          from.data + k * kTileDepth * from.depth_step + (some ? line * from.line_step : 0),
          from.lines - line, from.depth - k * kTileDepth, from.line_step, from.depth_step};
      fill_tile<kParts, kPairs>(
          part, to + (tile / 2 * depths + k) * kParts * kBlock * kTileDepth + tile % 2 * kTileSize,
          sums && some ? sums + line : nullptr);
    }
  }
}

FILIGREE_AMX_INLINE void load_left(const uint16_t* tiles) {
  _tile_loadd(4, tiles, 64);
  _tile_loadd(5, tiles + kTileSize, 64);
}
FILIGREE_AMX_INLINE void load_right(const uint16_t* tiles) {
  _tile_loadd(6, tiles, 64);
  _tile_loadd(7, tiles + kTileSize, 64);
}
FILIGREE_AMX_INLINE void add_products() {
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

/// sums [kBlock, kBlock] = a · b over `depths` tiles. Registers 0 to 3 are the sums, 4 and 5 tiles
/// of the left operand, 6 and 7 of the right one.
template <int kParts>
FILIGREE_AMX_INLINE void multiply_block(const uint16_t* a, const uint16_t* b, int64_t depths,
                                        float* sums) {
  constexpr int64_t kPart = 2 * kTileSize;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t k = 0; k < depths; ++k, a += kParts * kPart, b += kParts * kPart) {
    load_left(a);
    if constexpr (kParts == 2) {
      load_right(b + kPart);
      add_products();
    }
    load_right(b);
    add_products();
    if constexpr (kParts == 2) {
      load_left(a + kPart);
      add_products();
    }
  }
  constexpr size_t kStride = kBlock * sizeof(float);
  _tile_stored(0, sums, kStride);
  _tile_stored(1, sums + kTile, kStride);
  _tile_stored(2, sums + kTile * kBlock, kStride);
  _tile_stored(3, sums + kTile * kBlock + kTile, kStride);
}

/// The result is fetched while the sums are made: a store needs its lines too.
FILIGREE_AMX_INLINE void fetch(const float* result, int64_t rows, int64_t columns, int64_t step) {
  for (int64_t r = 0; r < rows; ++r, result += step) {
    for (int64_t c = 0; c < columns; c += kTile) _mm_prefetch(result + c, _MM_HINT_T0);
  }
}

/// Stores rows of a block; `finish` is that of the block's first column.
FILIGREE_AMX_INLINE void store(const float* sums, int64_t rows, int64_t columns,
                               const Finish<float>& finish, float* result, int64_t step) {
  for (int64_t r = 0; r < rows; ++r, sums += kBlock, result += step) {
    for (int64_t c = 0; c < columns; c += kTile) {
      const __mmask16 mask = mask_of(columns - c);
      __m512 v = _mm512_load_ps(sums + c);
      if (finish.scale != 1) v = _mm512_mul_ps(v, _mm512_set1_ps(finish.scale));
      if (finish.accumulate) v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(mask, result + c));
      if (finish.bias) v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(mask, finish.bias + c));
      if (finish.relu) v = _mm512_maskz_max_ps(mask, v, _mm512_setzero_ps());
      if (finish.where) {
        const __m512 gate = _mm512_maskz_loadu_ps(mask, finish.where + r * step + c);
        v = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(gate, _mm512_setzero_ps(), _CMP_GT_OQ), v);
      }
      _mm512_mask_storeu_ps(result + c, mask, v);
    }
  }
}

/// The same with vectors, for one part a number: of eight rows at a time the sums are in registers.
FILIGREE_AMX_INLINE void multiply_block_by_vectors(const uint16_t* a, const uint16_t* b,
                                                   int64_t depths, float* sums) {
  constexpr int64_t kRows = 8, kPart = 2 * kTileSize;
  for (int64_t first = 0; first < kBlock; first += kRows, sums += kRows * kBlock) {
    __m512 sum[kRows][2];
    for (auto& row : sum) row[0] = row[1] = _mm512_setzero_ps();
    const uint16_t* left = a + first / kTile * kTileSize + first % kTile * kTileDepth;
    const uint16_t* right = b;
    for (int64_t k = 0; k < depths; ++k, left += kPart, right += kPart) {
      for (int64_t u = 0; u < kUnits; ++u) {
        const auto right0 = (__m512bh)_mm512_load_si512(right + u * 32);
        const auto right1 = (__m512bh)_mm512_load_si512(right + kTileSize + u * 32);
#pragma GCC unroll 8
        for (int64_t r = 0; r < kRows; ++r) {
          int32_t pair;
          std::memcpy(&pair, left + r * kTileDepth + 2 * u, sizeof(pair));
          const auto entry = (__m512bh)_mm512_set1_epi32(pair);
          sum[r][0] = _mm512_dpbf16_ps(sum[r][0], entry, right0);
          sum[r][1] = _mm512_dpbf16_ps(sum[r][1], entry, right1);
        }
      }
    }
    for (int64_t r = 0; r < kRows; ++r) {
      _mm512_store_ps(sums + r * kBlock, sum[r][0]);
      _mm512_store_ps(sums + r * kBlock + kTile, sum[r][1]);
    }
  }
}

template <int kParts, bool kVectors = false>
FILIGREE_AMX void multiply_parts(const Matrix<float>& a, const uint16_t* tiles, int64_t columns,
                                 float* result, int64_t step, const Finish<float>& finish,
                                 float* row_sums) {
  constexpr int64_t kStep = kParts * kBlock * kTileDepth;
  const int64_t most_rows = blocks(std::min(a.rows, kLeftRows), kBlock);
  const int64_t most_depths = blocks(std::min(a.columns, kDepth), kTileDepth);
  const auto left =
      hwy::AllocateAligned<uint16_t>(static_cast<size_t>(most_rows * most_depths * kStep));
  alignas(64) float sums[kBlock * kBlock];
  const TileShapes shapes;
  if constexpr (!kVectors) _tile_loadconfig(&shapes);
  for (int64_t k0 = 0; k0 < a.columns; k0 += kDepth) {
    const int64_t depth = std::min(kDepth, a.columns - k0), depths = blocks(depth, kTileDepth);
    const bool last = k0 + depth == a.columns;
    for (int64_t i0 = 0; i0 < a.rows; i0 += kLeftRows) {
      const int64_t rows = std::min(kLeftRows, a.rows - i0);
      fill<kParts, false>(
          {a.data + i0 * a.row_step + k0 * a.column_step, rows, depth, a.row_step, a.column_step},
          left.get(), row_sums ? row_sums + i0 : nullptr);
      for (int64_t j = 0; j < columns; j += kBlock) {
        for (int64_t i = 0; i < rows; i += kBlock) {
          const int64_t offset = (i0 + i) * step + j;
          const int64_t block_rows = std::min(kBlock, rows - i);
          const int64_t block_columns = std::min(kBlock, columns - j);
          fetch(result + offset, block_rows, block_columns, step);
          const uint16_t* const left_block = left.get() + i / kBlock * depths * kStep;
          const uint16_t* const right_block = tiles + j / kBlock * depths * kStep;
          if constexpr (kVectors) {
            multiply_block_by_vectors(left_block, right_block, depths, sums);
          } else {
            multiply_block<kParts>(left_block, right_block, depths, sums);
          }
          store(sums, block_rows, block_columns,
                {.scale = finish.scale,
                 .accumulate = finish.accumulate || k0 > 0,
                 .bias = last && finish.bias ? finish.bias + j : nullptr,
                 .relu = last && finish.relu,
                 .where = last && finish.where ? finish.where + offset : nullptr},
                result + offset, step);
        }
      }
    }
    tiles += blocks(columns, kBlock) * depths * kStep;
  }
  if constexpr (!kVectors) _tile_release();
}

bool has_bfloat16_vectors() {
  return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

}  // namespace

bool has_tile_products(Precision precision) {
  if (precision == Precision::kFloat32) return false;
  return amx_available() || (precision == Precision::kBfloat16 && has_bfloat16_vectors());
}

int64_t tiles_size(const Matrix<float>& matrix, Precision precision) {
  return blocks(matrix.columns, kBlock) * blocks(matrix.rows, kTileDepth) * parts_of(precision) *
         kBlock * kTileDepth;
}

void fill_tiles(const Matrix<float>& matrix, Precision precision, uint16_t* tiles) {
  for (int64_t k0 = 0; k0 < matrix.rows; k0 += kDepth) {
    const int64_t depth = std::min(kDepth, matrix.rows - k0);
    const Lines lines{matrix.data + k0 * matrix.row_step, matrix.columns, depth, matrix.column_step,
                      matrix.row_step};
    (parts_of(precision) == 2 ? fill<2, true> : fill<1, true>)(lines, tiles, nullptr);
    tiles += blocks(matrix.columns, kBlock) * blocks(depth, kTileDepth) * parts_of(precision) *
             kBlock * kTileDepth;
  }
}

void multiply_tiles(const Matrix<float>& a, const uint16_t* tiles, int64_t columns,
                    Precision precision, float* result, int64_t result_step,
                    const Finish<float>& finish, float* row_sums) {
  const auto multiply = parts_of(precision) == 2 ? multiply_parts<2>
                        : amx_available()        ? multiply_parts<1>
                                                 : multiply_parts<1, true>;
  multiply(a, tiles, columns, result, result_step, finish, row_sums);
}

}  // namespace filigree::model

#else

namespace filigree::model {

bool has_tile_products(Precision) { return false; }
int64_t tiles_size(const Matrix<float>&, Precision) { return 0; }
void fill_tiles(const Matrix<float>&, Precision, uint16_t*) {}
void multiply_tiles(const Matrix<float>&, const uint16_t*, int64_t, Precision, float*, int64_t,
                    const Finish<float>&, float*) {}

}  // namespace filigree::model

#endif
