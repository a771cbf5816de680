#include "filigree/entmax/entmax_attention.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "filigree/entmax/attention.h"
#include "tests/entmax/targets.h"
#include "tests/gradcheck.h"

namespace filigree {
namespace {

using entmax_operators::entmax_attention_composite;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kAlphas[] = {1, 1 + 1e-6, 1.05, 1.2, 1.5, 1.7, 2, 3};

struct Case {
  int64_t queries, keys, width, value_width;
  std::vector<int64_t> lengths = {};
  bool causal = false;
  std::vector<int64_t> bias = {};  // its shape
  double dropout = 0;
  double deviation = 1;
  int64_t batch = 3;
};

const Case kCases[] = {
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

Inputs inputs_of(const Case& c, at::ScalarType type = at::kDouble) {
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

at::Tensor fused(const std::vector<at::Tensor>& t, const EntmaxAttentionOptions& options) {
  return entmax_attention(t[0], t[1], t[2], t[3], options);
}

at::Tensor composite(const std::vector<at::Tensor>& t, const EntmaxAttentionOptions& options) {
  return std::get<0>(entmax_attention_composite(t[0], t[1], t[2], t[3], options));
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

double largest(const at::Tensor& t) { return t.numel() == 0 ? 0 : t.abs().max().item<double>(); }

// Of the difference, relative to the largest value where that is above 1.
double error(const at::Tensor& actual, const at::Tensor& expected) {
  return largest(actual.to(at::kDouble) - expected.to(at::kDouble)) /
         std::max(1.0, largest(expected));
}

const char* const kNames[] = {"output", "query", "key", "value", "alpha"};

TEST(EntmaxAttention, EqualsItsCompositionInFloat64) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.queries);
    const Inputs in = inputs_of(c);
    const auto actual = results_of(in, fused), expected = results_of(in, composite);
    for (size_t i = 0; i < actual.size(); ++i) {
      EXPECT_LT(error(actual[i], expected[i]), 1e-10) << kNames[i];
    }
  }
}

TEST(EntmaxAttention, EqualsItsCompositionForRandomShapes) {
  std::mt19937 random(7);
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  for (int draw = 0; draw < 30; ++draw) {
    Case c{between(1, 120), between(1, 150), between(1, 70), between(1, 70)};
    c.batch = 2;
    c.causal = draw % 2 == 1;
    c.dropout = draw % 3 == 1 ? 0.2 : 0;
    c.deviation = static_cast<double>(between(1, 4));
    if (draw % 4 == 0) c.lengths = {between(0, c.keys), between(0, c.keys)};
    if (draw % 5 == 0) c.bias = {c.queries, c.keys};
    SCOPED_TRACE(draw);
    const Inputs in = inputs_of(c);
    const auto actual = results_of(in, fused), expected = results_of(in, composite);
    for (size_t i = 0; i < actual.size(); ++i) {
      EXPECT_LT(error(actual[i], expected[i]), 1e-10) << kNames[i];
    }
  }
}

// The inputs with every score moved, up or down at random, by what the rounding of a product of
// query and key in float32 amounts to: ε |query|ᵀ|key|.
Inputs with_moved_scores(Inputs in) {
  const at::Tensor sizes = at::matmul(in.tensors[0].abs(), in.tensors[1].abs().transpose(-1, -2)) /
                           std::sqrt(static_cast<double>(in.tensors[0].size(-1)));
  const at::Tensor signs = at::randint(0, 2, sizes.sizes(), at::kDouble) * 2 - 1;
  const at::Tensor moved = sizes * signs * std::numeric_limits<float>::epsilon();
  in.options.bias = in.options.bias.defined() ? in.options.bias + moved : moved;
  return in;
}

// The errors of every head in the output and the gradients, [5][heads], relative to the largest
// value where that is above 1. The gradient of α is a sum of terms of order 1, one per query.
std::vector<std::vector<double>> errors_of(const std::vector<at::Tensor>& actual,
                                           const std::vector<at::Tensor>& expected) {
  const at::Tensor& output = expected[0];
  const double rows = static_cast<double>(output.size(0) * output.size(2));
  std::vector<std::vector<double>> errors;
  for (size_t i = 0; i < actual.size(); ++i) {
    std::vector<double>& of_heads = errors.emplace_back();
    for (int64_t h = 0; h < output.size(1); ++h) {
      const int64_t dimension = i == 4 ? 0 : 1;
      const double scale = i == 4 ? std::sqrt(rows) : 1;
      of_heads.push_back(
          error(actual[i].select(dimension, h) / scale, expected[i].select(dimension, h) / scale));
    }
  }
  return errors;
}

// Where α > 1.5 the slope of p changes without bound at the threshold, and at α > 2 so does p:
// there the rounding of the scores alone can cost more than 2e-5, and what it costs at worst is the
// measure.
TEST(EntmaxAttention, IsAccurateInFloat32OnEveryInstructionSet) {
  for (const Case& c : kCases) {
    const Inputs in = inputs_of(c, at::kFloat);
    Inputs wide = in;
    for (size_t i = 0; i < 3; ++i) wide.tensors[i] = in.tensors[i].to(at::kDouble);
    if (in.options.bias.defined()) wide.options.bias = in.options.bias.to(at::kDouble);
    const auto expected = results_of(wide, composite);
    std::vector<std::vector<double>> bounds(5, std::vector<double>(std::size(kAlphas), 2e-5));
    bounds[0].assign(std::size(kAlphas), 2e-6);
    for (int draw = 0; draw < 8; ++draw) {
      at::manual_seed(draw);
      const auto moved = errors_of(results_of(with_moved_scores(wide), composite), expected);
      for (size_t i = 0; i < moved.size(); ++i) {
        for (size_t h = 0; h < moved[i].size(); ++h) {
          bounds[i][h] = std::max(bounds[i][h], 2 * moved[i][h]);
        }
      }
    }
    for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
      const OnTarget on(target);
      const auto errors = errors_of(results_of(in, fused), expected);
      for (size_t i = 0; i < errors.size(); ++i) {
        for (size_t h = 0; h < errors[i].size(); ++h) {
          EXPECT_LT(errors[i][h], bounds[i][h])
              << kNames[i] << " at alpha " << kAlphas[h] << ", " << c.queries << " queries, "
              << hwy::TargetName(target);
        }
      }
    }
  }
}

TEST(EntmaxAttention, GradientsEqualDifferences) {
  const Case c{5, 6, 3, 2, {6, 4, 0}, true, {5, 6}, 0.2};
  const Inputs in = inputs_of(c);
  std::vector<at::Tensor> tensors = in.tensors;
  // Away from 1, where α has a limit from above alone.
  tensors[3] = at::tensor({1.01, 1.05, 1.1, 1.3, 1.5, 1.7, 2.0, 2.5}, at::kDouble);
  expect_gradients([&](const auto& t) { return fused(t, in.options); }, tensors);
}

TEST(EntmaxAttention, SecondGradientsEqualDifferences) {
  at::manual_seed(1);
  const std::vector<at::Tensor> tensors = {
      at::randn({1, 2, 3, 2}, at::kDouble), at::randn({1, 2, 4, 2}, at::kDouble),
      at::randn({1, 2, 4, 2}, at::kDouble), at::tensor({1.3, 1.5}, at::kDouble)};
  EntmaxAttentionOptions options;
  options.key_lengths = at::tensor({3});
  expect_second_gradients([&](const auto& t) { return fused(t, options); }, tensors);
}

TEST(EntmaxAttention, BiasMayRequireAGradient) {
  Inputs in = inputs_of({5, 6, 3, 2});
  in.tensors[3] = at::tensor({1.01, 1.05, 1.1, 1.3, 1.5, 1.7, 2.0, 2.5}, at::kDouble);
  in.tensors.push_back(at::randn({5, 6}, at::kDouble));
  expect_gradients(
      [&](const auto& t) {
        EntmaxAttentionOptions options = in.options;
        options.bias = t[4];
        return fused(t, options);
      },
      in.tensors);
}

TEST(EntmaxAttention, ChangesItsPathWithTheDensityOfTheBlocks) {
  // Blocks of 48 queries with even and with peaked scores in turns.
  Inputs in = inputs_of({240, 200, 16, 16, {}, false, {}, 0, 1, 1});
  const at::Tensor block = at::arange(240).div(48, "floor").remainder(2);
  in.tensors[0] = in.tensors[0] * (block * 8 + 0.01).view({240, 1});
  in.tensors[3] = at::full({8}, 1.3, at::kDouble);
  const auto actual = results_of(in, fused), expected = results_of(in, composite);
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_LT(error(actual[i], expected[i]), 1e-10) << kNames[i];
  }
}

TEST(EntmaxAttention, IsTheSameOnOneAndTwoThreads) {
  const int threads = at::get_num_threads();
  for (const int64_t batch : {2, 1}) {
    Case c{300, 300, 16, 16, {}, true};
    c.batch = batch;
    const Inputs in = inputs_of(c, at::kFloat);
    at::set_num_threads(1);
    const auto one = results_of(in, fused);
    at::set_num_threads(2);
    const auto two = results_of(in, fused), again = results_of(in, fused);
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_TRUE(at::equal(two[i], again[i])) << kNames[i];
      EXPECT_LT(error(two[i], one[i]), 1e-5) << kNames[i];
    }
  }
  // A head for two threads: each has every other block, and their sums are added up in order.
  Inputs in = inputs_of({300, 300, 16, 16, {}, true, {}, 0, 1, 1}, at::kFloat);
  for (at::Tensor& t : in.tensors) t = t.narrow(t.dim() == 4 ? 1 : 0, 4, 1);
  at::set_num_threads(1);
  const auto one = results_of(in, fused);
  at::set_num_threads(2);
  const auto two = results_of(in, fused);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_LT(error(two[i], one[i]), 1e-5) << kNames[i];
  at::set_num_threads(threads);
}

TEST(EntmaxAttention, DoesNotDependOnTheRestOfTheBatch) {
  const Inputs in = inputs_of({70, 70, 16, 16, {70, 30, 50}}, at::kFloat);
  const auto all = results_of(in, fused);
  Inputs alone = in;
  for (size_t i = 0; i < 3; ++i) {
    alone.tensors[i] = in.tensors[i].narrow(0, 1, 1).narrow(2, 0, i == 0 ? 70 : 30);
  }
  alone.options.key_lengths = at::Tensor();
  EXPECT_TRUE(at::equal(fused(alone.tensors, alone.options), all[0].narrow(0, 1, 1)));
}

TEST(EntmaxAttention, TakesTransposedTensorsAsTheyAre) {
  const Inputs in = inputs_of({40, 40, 16, 16}, at::kFloat);
  Inputs transposed = in;
  for (size_t i = 0; i < 3; ++i) {
    transposed.tensors[i] = in.tensors[i].transpose(1, 2).contiguous().transpose(1, 2);
  }
  const auto expected = results_of(in, fused), actual = results_of(transposed, fused);
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_TRUE(at::equal(actual[i], expected[i]));
  EXPECT_TRUE(actual[0].transpose(1, 2).is_contiguous());
}

TEST(EntmaxAttention, ReturnsItsWeights) {
  for (const Case& c : kCases) {
    const Inputs in = inputs_of(c);
    const auto& t = in.tensors;
    const at::Tensor expected =
        std::get<1>(entmax_attention_composite(t[0], t[1], t[2], t[3], in.options));
    const auto [output, weights] =
        entmax_attention_with_weights(t[0], t[1], t[2], t[3], in.options);
    EXPECT_TRUE(at::equal(output, fused(t, in.options)));
    EXPECT_LT(error(weights, expected), 1e-10);

    const auto [same, rows] = entmax_attention_with_rows(t[0], t[1], t[2], t[3], in.options);
    EXPECT_TRUE(at::equal(same, output));
    EXPECT_GT(rows.weights.numel() == 0 ? 1 : rows.weights.min().item<double>(), 0);
    const at::Tensor counts = rows.offsets.diff();
    const at::Tensor row = at::arange(counts.numel()).repeat_interleave(counts);
    const at::Tensor spread = at::zeros({counts.numel(), c.keys}, at::kDouble);
    spread.index_put_({row, rows.keys}, rows.weights);
    EXPECT_TRUE(at::equal(spread.view_as(weights), weights));
  }
}

TEST(EntmaxAttention, DropsTheWeightsThatAttentionWeightsDrops) {
  Inputs in = inputs_of({20, 20, 20, 20, {}, false, {}, 0.4});
  in.tensors[2] = at::eye(20, at::kDouble).expand({3, 8, 20, 20});  // the output is the weights
  const at::Tensor scores = at::matmul(in.tensors[0], in.tensors[1].transpose(-1, -2));
  const at::Tensor expected = attention_weights(scores, in.tensors[3], 1 / std::sqrt(20.0), {},
                                                false, 0.4, in.options.seed);
  EXPECT_LT(error(fused(in.tensors, in.options), expected), 1e-12);
}

TEST(EntmaxAttention, QueriesThatSeeNothingGiveZeros) {
  Inputs in = inputs_of({6, 5, 16, 16, {0, 5, 5}, false, {6, 5}});
  in.options.bias.zero_().select(0, 2).fill_(-kInfinity);
  const auto results = results_of(in, fused);
  EXPECT_EQ(largest(results[0][0]), 0);
  EXPECT_EQ(largest(results[0].select(2, 2)), 0);
  EXPECT_EQ(largest(results[1][0]), 0);
  EXPECT_EQ(largest(results[1].select(2, 2)), 0);
  EXPECT_EQ(largest(results[2][0]), 0);
  EXPECT_GT(largest(results[1][1]), 0);
}

TEST(EntmaxAttention, NaNStaysInItsRow) {
  Inputs in = inputs_of({6, 5, 16, 16}, at::kFloat);
  const at::Tensor expected = fused(in.tensors, in.options);
  in.tensors[0].select(2, 1).fill_(kNaN);
  const at::Tensor actual = fused(in.tensors, in.options);
  EXPECT_TRUE(actual.select(2, 1).isnan().all().item<bool>());
  EXPECT_LT(error(actual.narrow(2, 2, 4), expected.narrow(2, 2, 4)), 1e-6);
}

TEST(EntmaxAttention, HalfTypesKeepTheirTypeAndComputeInFloat) {
  const Inputs in = inputs_of({20, 20, 16, 16}, at::kBFloat16);
  Inputs wide = in;
  for (size_t i = 0; i < 3; ++i) wide.tensors[i] = in.tensors[i].to(at::kFloat);
  const auto expected = results_of(wide, fused), actual = results_of(in, fused);
  EXPECT_EQ(actual[0].scalar_type(), at::kBFloat16);
  EXPECT_EQ(actual[1].scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal(actual[0], expected[0].to(at::kBFloat16)));
}

TEST(EntmaxAttention, TakesEmptyTensors) {
  for (const auto& [queries, keys, width] :
       {std::tuple<int64_t, int64_t, int64_t>{0, 4, 8}, {4, 0, 8}, {0, 0, 8}, {4, 4, 0}}) {
    const Inputs in = inputs_of({queries, keys, width, 8});
    const auto actual = results_of(in, fused);
    EXPECT_EQ(actual[0].sizes(), at::IntArrayRef({3, 8, queries, 8}));
    EXPECT_LT(error(actual[0], composite(in.tensors, in.options)), 1e-12);
    EXPECT_EQ(actual[1].sizes(), in.tensors[0].sizes());
  }
}

template <typename Function>
std::string message_of(Function&& function) {
  try {
    function();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

TEST(EntmaxAttention, SaysWhatDoesNotFit) {
  const at::Tensor q = at::zeros({2, 4, 5, 8}), k = at::zeros({2, 4, 6, 8}), v = k;
  const at::Tensor alpha = at::full({4}, 1.5);
  const auto with = [&](auto change) {
    EntmaxAttentionOptions options;
    change(options);
    return message_of([&] { entmax_attention(q, k, v, alpha, options); });
  };
  EXPECT_THAT(message_of([&] { entmax_attention(q[0], k, v, alpha); }),
              HasSubstr("must be [batch, head, length, d]"));
  EXPECT_THAT(message_of([&] { entmax_attention(q, k, v.to(at::kDouble), alpha); }),
              HasSubstr("must have one type"));
  EXPECT_THAT(message_of([&] { entmax_attention(q, k, q, alpha); }),
              HasSubstr("do not fit together"));
  EXPECT_THAT(message_of([&] { entmax_attention(q, k, v, at::full({3}, 1.5)); }),
              HasSubstr("one per head (4)"));
  EXPECT_THAT(message_of([&] { entmax_attention(q, k, v, at::full({4}, 0.5)); }),
              HasSubstr("alpha must be at least 1"));
  EXPECT_THAT(with([](auto& o) { o.scale = -1; }), HasSubstr("scale must be positive"));
  EXPECT_THAT(with([](auto& o) { o.dropout = 1; }), HasSubstr("dropout must be in [0, 1)"));
  EXPECT_THAT(with([](auto& o) {
                o.bias = at::zeros({5, 5});
              }),
              HasSubstr("bias must be floating point and broadcast"));
  EXPECT_THAT(with([](auto& o) {
                o.key_lengths = at::tensor({6, 7});
              }),
              HasSubstr("sequence 1 has 7"));
}

}  // namespace
}  // namespace filigree
