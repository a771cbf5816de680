#include "filigree/model/precision.h"

#include <torch/torch.h>

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace filigree::model {

bool has_bfloat16_instructions() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") != 0;
#elif defined(__aarch64__) && defined(__linux__)
  return (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0;
#else
  return false;
#endif
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                  Precision precision) {
  if (precision != Precision::kBfloat16) return torch::linear(x, weight, bias);
  const at::Tensor product =
      torch::mm(x.to(at::kBFloat16), weight.to(at::kBFloat16).t()).to(x.scalar_type());
  return bias.defined() ? product + bias : product;
}

}  // namespace filigree::model
