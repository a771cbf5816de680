// The masks of attention as tensors, for what is written in tensor operations.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace filigree::entmax_operators {

/// True where a query sees a key, broadcasting over [batch, head, query, key]; undefined when all
/// do. key_lengths: one integer per sequence, or undefined. causal: query i sees keys
/// 0 … i + (keys − queries). The tensors are on the device of `like`.
at::Tensor keys_in_sight(const at::Tensor& like, int64_t queries, int64_t keys,
                         const at::Tensor& key_lengths, bool causal);

/// 1 / (1 − dropout) where the mask of dropout.h keeps an element of `like`, else 0.
at::Tensor keep_factors(const at::Tensor& like, double dropout, int64_t seed);

/// key_lengths as the kernels take them. Throws, naming `function`, unless each is 0 … keys.
at::Tensor checked_lengths(const at::Tensor& key_lengths, int64_t keys, const char* function);

}  // namespace filigree::entmax_operators
