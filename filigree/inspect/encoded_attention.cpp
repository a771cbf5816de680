#include "filigree/inspect/encoded_attention.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "filigree/base/error.h"

namespace filigree::inspect {
namespace {

void append_planes(std::string& bytes, const std::vector<uint16_t>& numbers) {
  for (const uint16_t number : numbers) bytes += static_cast<char>(number & 0xff);
  for (const uint16_t number : numbers) bytes += static_cast<char>(number >> 8);
}

std::string deflate(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string compressed(size, '\0');
  const int code =
      compress2(reinterpret_cast<Bytef*>(compressed.data()), &size,
                reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), Z_BEST_COMPRESSION);
  if (code != Z_OK) throw Error("cannot compress {} bytes: zlib error {}", bytes.size(), code);
  compressed.resize(size);
  return compressed;
}

}  // namespace

uint16_t to_half(float weight) {
  constexpr int kBias = 15, kFractionBits = 10;
  if (!(weight > 0)) return 0;
  if (weight < std::ldexp(1.0f, 1 - kBias)) {  // subnormal: units of 2^−24
    return static_cast<uint16_t>(std::max(std::lround(std::ldexp(weight, 24)), 1L));
  }
  const int exponent = std::ilogb(weight);
  // A fraction that rounds up to the next power of two carries into the exponent, as it should.
  const long fraction =
      std::lround(std::ldexp(weight, kFractionBits - exponent)) - (1 << kFractionBits);
  return static_cast<uint16_t>(((exponent + kBias) << kFractionBits) + fraction);
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<uint8_t>(bytes[i + j]) : 0u);
    }
    for (size_t j = 0; j < 4; ++j) {
      text += i + j <= bytes.size() ? kDigits[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

std::string encode(const SentenceAttention& attention) {
  std::vector<uint16_t> sizes, keys, weights;
  for (const auto& layers : attention.blocks) {
    for (const LayerAttention& heads : layers) {
      for (const SparseAttention& head : heads) {
        for (int32_t q = 0; q < head.queries(); ++q) {
          sizes.push_back(static_cast<uint16_t>(head.row(q).size()));
          for (const auto& entry : head.row(q)) {
            keys.push_back(static_cast<uint16_t>(entry.key));
            weights.push_back(to_half(entry.weight));
          }
        }
      }
    }
  }
  std::string bytes;
  append_planes(bytes, sizes);
  append_planes(bytes, keys);
  append_planes(bytes, weights);
  return base64(deflate(bytes));
}

}  // namespace filigree::inspect
