// The parameters of a model: named tensors that are views into one flat buffer, with their
// gradients in a second one, so that an optimiser, an average or a checkpoint is one pass.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace filigree::model {

struct ParameterSpec {
  std::string name;
  std::vector<int64_t> shape;
};

class Parameters {
 public:
  Parameters() = default;
  /// Allocates zeros for all, in order. dtype float32, or float64 for gradient checks.
  explicit Parameters(std::vector<ParameterSpec> specs, at::ScalarType dtype = at::kFloat);

  /// The same layout over another buffer of [count] values, shared and not copied.
  Parameters with_values(const at::Tensor& values) const;
  /// The same values in the same memory, with gradients of its own: for another thread.
  Parameters replica() const { return with_values(values_); }
  /// Gives every parameter but those named a gradient, zero at first, in one flat buffer, in which
  /// the places of the others stay zero.
  void require_gradients(const std::set<std::string>& but = {});

  const std::vector<ParameterSpec>& specs() const { return specs_; }
  /// Throws c10::Error when there is no such parameter.
  const at::Tensor& operator[](const std::string& name) const;
  int64_t count() const { return values_.numel(); }
  const at::Tensor& values() const { return values_; }        ///< [count]
  const at::Tensor& gradients() const { return gradients_; }  ///< [count], undefined without

 private:
  void bind();

  std::vector<ParameterSpec> specs_;
  at::Tensor values_, gradients_;
  std::map<std::string, at::Tensor> by_name_;
};

/// Writes the parameters as float32 safetensors; `values` (default: their own) may be another
/// buffer of the same layout, such as an average.
void save_parameters(const std::filesystem::path& path, const Parameters& parameters,
                     const at::Tensor& values = {});

/// Reads a file written by save_parameters into `parameters`. Throws Error naming the file and the
/// first tensor that is missing, unknown, or of another shape or dtype; nothing is read then.
void load_parameters(const std::filesystem::path& path, const Parameters& parameters);

}  // namespace filigree::model
