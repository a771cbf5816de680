#include "filigree/translate/packed_matrix.h"

#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>

#include "filigree/translate/amx.h"

namespace filigree::translate {
namespace {

/// To nearest, ties to even.
uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

size_t size_of(Precision precision) {
  return precision == Precision::kFloat32 ? 4 : precision == Precision::kBfloat16 ? 2 : 1;
}

}  // namespace

void PackedMatrix::Free::operator()(void* memory) const {
  hwy::FreeAlignedBytes(memory, nullptr, nullptr);
}

int64_t PackedMatrix::panel_size() const {
  const int64_t unit = precision_ == Precision::kBfloat16 ? kBfloat16Inputs : 1;
  return kPanel * ((inputs_ + unit - 1) / unit * unit);
}

const void* PackedMatrix::panel(int64_t index) const {
  return static_cast<const char*>(weights_.get()) +
         static_cast<size_t>(index * panel_size()) * size_of(precision_);
}

PackedMatrix::PackedMatrix(const float* weight, const float* bias, int64_t outputs, int64_t inputs,
                           Precision precision)
    : outputs_(outputs),
      inputs_(inputs),
      precision_(precision),
      bias_(static_cast<size_t>(panels() * kPanel), 0.0f) {
  if (bias) std::copy(bias, bias + outputs, bias_.begin());
  bytes_ = static_cast<size_t>(panels() * panel_size()) * size_of(precision);
  weights_.reset(hwy::AllocateAlignedBytes(bytes_, nullptr, nullptr));
  if (!weights_ && bytes_ > 0) throw std::bad_alloc();
  std::memset(weights_.get(), 0, bytes_);
  scale_.assign(bias_.size(), 1.0f);

  for (int64_t o = 0; o < outputs; ++o, weight += inputs) {
    const int64_t first = o / kPanel * panel_size(), column = o % kPanel;
    if (precision == Precision::kFloat32) {
      auto* const to = static_cast<float*>(weights_.get()) + first + column;
      for (int64_t i = 0; i < inputs; ++i) to[i * kPanel] = weight[i];
    } else if (precision == Precision::kBfloat16) {
      auto* const to = static_cast<uint16_t*>(weights_.get()) + first + 2 * column;
      for (int64_t i = 0; i < inputs; ++i) to[i / 2 * 2 * kPanel + i % 2] = to_bfloat16(weight[i]);
    } else {
      float largest = 0;
      for (int64_t i = 0; i < inputs; ++i) largest = std::max(largest, std::abs(weight[i]));
      const float scale = largest > 0 ? largest / 127 : 1;
      scale_[static_cast<size_t>(o)] = scale;
      auto* const to = static_cast<int8_t*>(weights_.get()) + first + column;
      for (int64_t i = 0; i < inputs; ++i) {
        to[i * kPanel] = static_cast<int8_t>(std::lrint(weight[i] / scale));
      }
    }
  }
}

void multiply(const Product& product) {
  if (product.matrix.precision() == Precision::kBfloat16 && amx_available()) {
    multiply_amx(product);
  } else {
    multiply_by_vectors(product);
  }
}

}  // namespace filigree::translate
