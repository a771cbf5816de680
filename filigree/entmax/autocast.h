// What operators of this library do under torch.autocast: as softmax, they compute in float32 and
// return it.
#pragma once

#include <ATen/ATen.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <utility>

namespace filigree::entmax_operators {

inline at::Tensor widen(const at::Tensor& tensor) {
  const bool half = tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16;
  return half ? tensor.to(at::kFloat) : tensor;
}
template <typename T>
T&& widen(T&& not_a_tensor) {
  return std::forward<T>(not_a_tensor);
}

/// float32_under_autocast<f>::call is the function to register for the autocast keys where `f` is
/// the operator: f with half-precision tensors widened, and with autocast off inside it.
template <auto function>
struct float32_under_autocast;

template <typename Result, typename... Arguments, Result (*function)(Arguments...)>
struct float32_under_autocast<function> {
  static Result call(Arguments... arguments) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    return function(widen(arguments)...);
  }
};

}  // namespace filigree::entmax_operators
