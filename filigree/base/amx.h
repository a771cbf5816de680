// The matrix unit of recent Intel processors (AMX): eight tiles of 16 rows of 64 bytes, and an
// instruction that multiplies two tiles of bfloat16 and adds the result to a tile of float32.
#pragma once

#include <cstdint>

namespace filigree {

/// Whether the processor and the system have AMX for bfloat16, and the vector instructions that
/// convert to it. Asks the system for its use, once.
bool amx_available();

/// The operand of LDTILECFG for eight tiles of full size.
struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t column_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

}  // namespace filigree

/// Before functions that use it. They are called only where amx_available().
#define FILIGREE_AMX \
  __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
