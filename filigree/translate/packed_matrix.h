// Weight matrices packed once for products with few rows, as a decoder's steps have them.
// Vectorised, one thread, no LibTorch.
//
// Every output is one chain of multiply-adds in the order of the inputs, whatever the number of
// rows, so that a row's result is the same bits in every batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace filigree::translate {

/// How the weights are kept. Sums are float32 always; so are the inputs of a product, except that
/// with kBfloat16 they are rounded to it where the processor multiplies bfloat16 itself.
enum class Precision {
  kFloat32,
  kBfloat16,  ///< half the memory; 8 bits of mantissa
  kInt8,      ///< a quarter; −127 … 127 with a scale for every output
};

/// "float32", "bfloat16" or "int8"; throws UsageError on another name.
Precision parse_precision(const std::string& name);

/// W [outputs, inputs] and b [outputs] of y = W x + b. Outputs lie in panels of kPanel columns, and
/// a panel has one row for every input, so that a product reads it from front to back.
class PackedMatrix {
 public:
  static constexpr int64_t kPanel = 32;
  /// Of kBfloat16: the number of inputs is rounded up to a multiple of it, with zeros.
  static constexpr int64_t kBfloat16Inputs = 32;

  PackedMatrix() = default;
  /// weight: [outputs, inputs], row-major. bias: [outputs] or null.
  PackedMatrix(const float* weight, const float* bias, int64_t outputs, int64_t inputs,
               Precision precision);

  int64_t outputs() const { return outputs_; }
  int64_t inputs() const { return inputs_; }
  int64_t panels() const { return (outputs_ + kPanel - 1) / kPanel; }
  Precision precision() const { return precision_; }
  size_t bytes() const { return bytes_; }

  /// The weights of a panel: [inputs, kPanel] of float or int8_t, or [inputs / 2, kPanel, 2] of
  /// bfloat16 as uint16_t; columns beyond the last output are zero.
  const void* panel(int64_t index) const;
  const float* bias(int64_t panel) const { return bias_.data() + panel * kPanel; }
  /// Of kInt8: weight = scale · integer.
  const float* scale(int64_t panel) const { return scale_.data() + panel * kPanel; }

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  int64_t panel_size() const;  ///< in weights

  int64_t outputs_ = 0, inputs_ = 0;
  Precision precision_ = Precision::kFloat32;
  size_t bytes_ = 0;
  std::unique_ptr<void, Free> weights_;
  std::vector<float> bias_, scale_;  ///< [panels · kPanel]
};

/// What happens to a product before it is written.
enum class Then {
  kWrite,
  kRelu,  ///< max(y, 0)
  kAdd,   ///< y is added to what is there: a residual connection
};

/// y[r] = W x[r] + b for the outputs of `panels` panels from `first_panel` on, which are written to
/// y from its column 0; x has rows x_stride apart, y y_stride.
struct Product {
  const PackedMatrix& matrix;
  const float* x;
  int64_t x_stride;
  int64_t rows;
  float* y;
  int64_t y_stride;
  Then then = Then::kWrite;
  int64_t first_panel = 0;
  int64_t panels = -1;  ///< all where negative
};
void multiply(const Product& product);
/// The same by vector instructions alone.
void multiply_by_vectors(const Product& product);

}  // namespace filigree::translate
