#include "filigree/translate/packed_matrix.h"

#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>

#include "filigree/base/amx.h"
#include "filigree/base/error.h"
#include "filigree/base/memory.h"
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

Precision parse_precision(const std::string& name) {
  if (name == "float32") return Precision::kFloat32;
  if (name == "bfloat16") return Precision::kBfloat16;
  if (name == "int8") return Precision::kInt8;
  throw UsageError("precision \"{}\" is not one of float32, bfloat16, int8", name);
}

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
  prefer_huge_pages(weights_.get(), bytes_);
  std::memset(weights_.get(), 0, bytes_);
  scale_.assign(bias_.size(), 1.0f);

  if (precision == Precision::kInt8) {
    for (int64_t o = 0; o < outputs; ++o) {
      float largest = 0;
      for (int64_t i = 0; i < inputs; ++i) {
        largest = std::max(largest, std::abs(weight[o * inputs + i]));
      }
      if (largest > 0) scale_[static_cast<size_t>(o)] = largest / 127;
    }
  }
  // `together`: inputs that lie beside each other.
  const auto fill = [&](auto* to, int64_t together, const auto& convert) {
    constexpr int64_t kBlock = 16;  // a cache line of weights at a time, in both layouts
    for (int64_t first = 0; first < outputs; first += kPanel, to += panel_size()) {
      for (int64_t begin = 0; begin < inputs; begin += kBlock) {
        for (int64_t o = first; o < std::min(first + kPanel, outputs); ++o) {
          for (int64_t i = begin; i < std::min(begin + kBlock, inputs); ++i) {
            to[i / together * together * kPanel + (o - first) * together + i % together] =
                convert(weight[o * inputs + i], o);
          }
        }
      }
    }
  };
  if (precision == Precision::kFloat32) {
    fill(static_cast<float*>(weights_.get()), 1, [](float value, int64_t) { return value; });
  } else if (precision == Precision::kBfloat16) {
    fill(static_cast<uint16_t*>(weights_.get()), 2,
         [](float value, int64_t) { return to_bfloat16(value); });
  } else {
    fill(static_cast<int8_t*>(weights_.get()), 1, [this](float value, int64_t o) {
      return static_cast<int8_t>(std::lrint(value / scale_[static_cast<size_t>(o)]));
    });
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
