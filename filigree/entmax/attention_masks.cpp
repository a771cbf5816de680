#include "filigree/entmax/attention_masks.h"

#include <ATen/ATen.h>

#include "filigree/entmax/dropout.h"

namespace filigree::entmax_operators {

at::Tensor keys_in_sight(const at::Tensor& like, int64_t queries, int64_t keys,
                         const at::Tensor& key_lengths, bool causal) {
  const at::Tensor key = at::arange(keys, like.options().dtype(at::kLong));
  at::Tensor seen;
  if (key_lengths.defined()) {
    const at::Tensor lengths = key_lengths.to(key.options()).view({-1, 1, 1, 1});
    seen = key < lengths;
  }
  if (causal) {
    const at::Tensor query = at::arange(queries, key.options()).unsqueeze(1) + (keys - queries);
    seen = seen.defined() ? seen.logical_and(key <= query) : key <= query;
  }
  return seen;
}

at::Tensor keep_factors(const at::Tensor& like, double dropout, int64_t seed) {
  constexpr int64_t kLow = 0xffffffff;
  const auto key = static_cast<uint64_t>(seed);
  at::Tensor x = at::arange(like.numel(), like.options().dtype(at::kLong));
  const auto shifted = [](const at::Tensor& v, int64_t bits) {
    return v.bitwise_xor(at::__rshift__(v, bits));
  };
  x = (x + static_cast<int64_t>(key & kLow)).bitwise_and(kLow);
  x = (shifted(x, 16) * int64_t{kDropoutMultiplier1}).bitwise_and(kLow);
  x = shifted(x, 15) + static_cast<int64_t>(key >> 32);
  x = (x.bitwise_and(kLow) * int64_t{kDropoutMultiplier2}).bitwise_and(kLow);
  const at::Tensor kept = shifted(x, 16) < int64_t{dropout_threshold(dropout)};
  return (kept.to(like.scalar_type()) / (1 - dropout)).view(like.sizes());
}

at::Tensor checked_lengths(const at::Tensor& key_lengths, int64_t keys, const char* function) {
  const at::Tensor lengths = key_lengths.to(at::kInt).contiguous();
  const int32_t* const values = lengths.data_ptr<int32_t>();
  for (int64_t b = 0; b < lengths.numel(); ++b) {
    TORCH_CHECK(values[b] >= 0 && values[b] <= keys, function, ": key_lengths must be 0 to ", keys,
                ", but sequence ", b, " has ", values[b]);
  }
  return lengths;
}

}  // namespace filigree::entmax_operators
