// Inputs of entmax_attention() of many kinds, and how results are compared.
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "filigree/entmax/entmax_attention.h"

namespace filigree::attention_cases {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline const double kAlphas[] = {1, 1 + 1e-6, 1.05, 1.2, 1.5, 1.7, 2, 3};

struct Case {
  int64_t queries, keys, width, value_width;
  std::vector<int64_t> lengths = {};
  bool causal = false;
  std::vector<int64_t> bias = {};  // its shape
  double dropout = 0;
  double deviation = 1;
  int64_t batch = 3;
};

inline const Case kCases[] = {
    {20, 20, 16, 16},
    {1, 33, 64, 64},
    {7, 9, 5, 3, {9, 4, 0}},
    {64, 64, 32, 48, {64, 17, 1}, true},
    {50, 50, 20, 20, {}, true, {}, 0, 4},
    {49, 100, 64, 64, {100, 99, 3}, true, {}, 0.3},
    {5, 3, 16, 16, {}, true},  // the first queries see nothing
    {97, 70, 24, 24, {}, false, {8, 97, 70}},
    {20, 30, 16, 16, {30, 2, 30}, false, {3, 1, 1, 30}, 0.5},
    {30, 30, 256, 128, {}, true, {30, 1}},
    {100, 400, 32, 32, {}, false, {}, 0.1, 3, 1},
};

struct Inputs {
  std::vector<at::Tensor> tensors;  // query, key, value, alpha
  EntmaxAttentionOptions options;
};

inline Inputs inputs_of(const Case& c, at::ScalarType type = at::kDouble) {
  at::manual_seed(1);
  const int64_t heads = static_cast<int64_t>(std::size(kAlphas));
  const auto random = [&](int64_t length, int64_t width) {
    return at::randn({c.batch, heads, length, width}, at::kDouble).to(type);
  };
  Inputs in;
  in.tensors = {random(c.queries, c.width) * c.deviation, random(c.keys, c.width),
                random(c.keys, c.value_width),
                at::tensor(at::ArrayRef<double>(kAlphas), at::kDouble)};
  in.options.causal = c.causal;
  in.options.dropout = c.dropout;
  in.options.seed = 0x123456789abcdef;
  if (!c.lengths.empty()) in.options.key_lengths = at::tensor(c.lengths, at::kLong);
  if (!c.bias.empty()) {
    at::Tensor bias = at::randn(c.bias, at::kDouble);
    bias.masked_fill_(at::rand_like(bias) < 0.2, -kInfinity);
    if (bias.size(-2) > 3) bias.select(-2, 3).fill_(-kInfinity);
    in.options.bias = bias.to(type);
  }
  return in;
}

inline at::Tensor fused(const std::vector<at::Tensor>& t, const EntmaxAttentionOptions& options) {
  return entmax_attention(t[0], t[1], t[2], t[3], options);
}

inline at::Tensor composite(const std::vector<at::Tensor>& t,
                            const EntmaxAttentionOptions& options) {
  return std::get<0>(entmax_operators::entmax_attention_composite(t[0], t[1], t[2], t[3], options));
}

// The output and the gradients of query, key, value and alpha.
template <typename Function>
std::vector<at::Tensor> results_of(const Inputs& in, Function&& function) {
  std::vector<at::Tensor> leaves;
  for (const at::Tensor& t : in.tensors) leaves.push_back(t.detach().requires_grad_());
  const at::Tensor output = function(leaves, in.options);
  at::manual_seed(3);
  const at::Tensor cotangent = at::randn(output.sizes(), at::kDouble).to(output.scalar_type());
  std::vector<at::Tensor> results = torch::autograd::grad({output}, leaves, {cotangent});
  results.insert(results.begin(), output.detach());
  return results;
}

inline double largest(const at::Tensor& t) {
  return t.numel() == 0 ? 0 : t.abs().max().item<double>();
}

// Of the difference, relative to the largest value where that is above 1.
inline double error(const at::Tensor& actual, const at::Tensor& expected) {
  return largest(actual.to(at::kDouble) - expected.to(at::kDouble)) /
         std::max(1.0, largest(expected));
}

inline const char* const kNames[] = {"output", "query", "key", "value", "alpha"};

}  // namespace filigree::attention_cases
