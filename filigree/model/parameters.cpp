#include "filigree/model/parameters.h"

#include <fmt/ranges.h>
#include <torch/torch.h>

#include "filigree/base/error.h"
#include "filigree/model/safetensors.h"

namespace filigree::model {
namespace {

int64_t size_of(const ParameterSpec& spec) {
  int64_t size = 1;
  for (const int64_t dimension : spec.shape) size *= dimension;
  return size;
}

// Calls visit(spec, offset) for every parameter.
template <typename Visit>
void for_each(const std::vector<ParameterSpec>& specs, Visit visit) {
  int64_t offset = 0;
  for (const ParameterSpec& spec : specs) {
    visit(spec, offset);
    offset += size_of(spec);
  }
}

}  // namespace

Parameters::Parameters(std::vector<ParameterSpec> specs, at::ScalarType dtype)
    : specs_(std::move(specs)) {
  int64_t count = 0;
  for (const ParameterSpec& spec : specs_) count += size_of(spec);
  values_ = torch::zeros({count}, dtype);
  bind();
}

void Parameters::bind() {
  for_each(specs_, [&](const ParameterSpec& spec, int64_t offset) {
    by_name_[spec.name] = values_.narrow(0, offset, size_of(spec)).view(spec.shape).detach();
  });
}

Parameters Parameters::with_values(const at::Tensor& values) const {
  Parameters copy;
  copy.specs_ = specs_;
  copy.values_ = values;
  copy.bind();
  return copy;
}

void Parameters::require_gradients(const std::set<std::string>& but) {
  gradients_ = torch::zeros_like(values_);
  for_each(specs_, [&](const ParameterSpec& spec, int64_t offset) {
    if (but.contains(spec.name)) return;
    at::Tensor& tensor = by_name_.at(spec.name);
    tensor.set_requires_grad(true);
    tensor.mutable_grad() = gradients_.narrow(0, offset, size_of(spec)).view(spec.shape);
  });
}

const at::Tensor& Parameters::operator[](const std::string& name) const {
  const auto found = by_name_.find(name);
  TORCH_CHECK(found != by_name_.end(), "no parameter \"", name, "\"");
  return found->second;
}

void save_parameters(const std::filesystem::path& path, const Parameters& parameters,
                     const at::Tensor& values) {
  const at::Tensor flat =
      (values.defined() ? values : parameters.values()).to(at::kCPU, at::kFloat).contiguous();
  std::vector<TensorToWrite> tensors;
  for_each(parameters.specs(), [&](const ParameterSpec& spec, int64_t offset) {
    tensors.push_back({spec.name, "F32", spec.shape, flat.data_ptr<float>() + offset});
  });
  write_safetensors(path, tensors, {{"format", "filigree"}});
}

void load_parameters(const std::filesystem::path& path, const Parameters& parameters) {
  const SafetensorsFile file(path);
  for (const ParameterSpec& spec : parameters.specs()) {
    const auto found = file.tensors().find(spec.name);
    if (found == file.tensors().end()) {
      throw Error("{}: tensor \"{}\" is missing; is config.json that of this model?", path.string(),
                  spec.name);
    }
    if (found->second.shape != spec.shape) {
      throw Error("{}: tensor \"{}\" has shape [{}], expected [{}]", path.string(), spec.name,
                  fmt::join(found->second.shape, ", "), fmt::join(spec.shape, ", "));
    }
    if (found->second.dtype != "F32") {
      throw Error("{}: tensor \"{}\" has dtype {}, expected F32", path.string(), spec.name,
                  found->second.dtype);
    }
  }
  if (file.tensors().size() != parameters.specs().size()) {
    for (const auto& [name, tensor] : file.tensors()) {
      bool known = false;
      for (const ParameterSpec& spec : parameters.specs()) known = known || spec.name == name;
      if (!known) throw Error("{}: unknown tensor \"{}\"", path.string(), name);
    }
  }
  const torch::NoGradGuard no_grad;
  for_each(parameters.specs(), [&](const ParameterSpec& spec, int64_t offset) {
    const TensorRead& tensor = file.tensors().at(spec.name);
    parameters.values()
        .narrow(0, offset, size_of(spec))
        .view(spec.shape)
        .copy_(torch::from_blob(const_cast<char*>(tensor.data), spec.shape, at::kFloat));
  });
}

}  // namespace filigree::model
