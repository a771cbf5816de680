// The attention of a sentence as a short text, for a report.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "filigree/inspect/sparse_attention.h"

namespace filigree::inspect {

/// base64(zlib(numbers)) of three arrays of 16-bit numbers, one after another: the size of every
/// row, the keys, the weights as IEEE half-precision numbers; rows by block, layer, head and query.
/// Of each array all low bytes come first, then all high bytes, which compresses better.
std::string encode(const SentenceAttention& attention);

/// A weight in [0, 1] in half precision, rounded to nearest; only 0 becomes 0.
uint16_t to_half(float weight);

std::string base64(std::string_view bytes);

}  // namespace filigree::inspect
