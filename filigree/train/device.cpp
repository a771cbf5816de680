#include "filigree/train/device.h"

#include <torch/torch.h>

#include <charconv>

#include "filigree/base/error.h"
#include "filigree/model/kernels/matrix_product.h"

namespace filigree::train {

at::Device parse_device(const std::string& name) {
  constexpr std::string_view kCuda = "cuda", kNumbered = "cuda:";
  if (name == "cpu") return at::kCPU;
  if (name == kCuda) return at::kCUDA;
  if (name.starts_with(kNumbered)) {
    int8_t index = -1;
    const char* const end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + kNumbered.size(), end, index);
    if (error == std::errc() && rest == end && index >= 0) return {at::kCUDA, index};
  }
  throw UsageError("--device: \"{}\" is not one of cpu, cuda, cuda:0, cuda:1, ...", name);
}

model::Precision parse_precision(const std::string& name) {
  if (name == "float32") return model::Precision::kFloat32;
  if (name == "bfloat16x3") return model::Precision::kBfloat16x3;
  if (name == "bfloat16") return model::Precision::kBfloat16;
  throw UsageError("--precision: \"{}\" is not one of float32, bfloat16x3, bfloat16", name);
}

at::Device require_device(const std::string& name, int local_rank, model::Precision precision) {
  const at::Device device = parse_device(name);
  if (device.is_cpu()) {
    if (precision == model::Precision::kBfloat16 && !model::has_bfloat16_instructions()) {
      throw Error(
          "--precision bfloat16: this processor has no instructions for it (AVX512-BF16, "
          "AMX or Arm's BF16) and would only be slower");
    }
    return device;
  }
  if (!torch::cuda::is_available()) {
    throw Error(
        "--device {}: this LibTorch has no CUDA, or finds no GPU; leave the option out to "
        "train on the CPU",
        name);
  }
  const auto count = static_cast<int>(torch::cuda::device_count());
  const int index = device.has_index() ? device.index() : local_rank % count;
  if (index >= count) {
    throw Error("--device {}: there is no GPU of that number; this machine has {}", name, count);
  }
  return {at::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

std::string precision_note(at::Device device, model::Precision precision) {
  using model::Precision;
  const bool amx = device.is_cpu() && model::has_tile_products(Precision::kBfloat16x3);
  if (amx && precision == Precision::kFloat32) {
    return "this processor has AMX: --precision bfloat16x3 is faster and keeps 16 bits of products";
  }
  if (!amx && precision == Precision::kBfloat16x3) {
    return "without AMX, --precision bfloat16x3 is float32";
  }
  return "";
}

}  // namespace filigree::train
