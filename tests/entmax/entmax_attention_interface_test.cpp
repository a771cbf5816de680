// What entmax_attention() returns and takes besides: weights, dropout, masks, types, mistakes.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "filigree/entmax/attention.h"
#include "filigree/entmax/entmax_attention.h"
#include "tests/entmax/attention_cases.h"

namespace filigree {
namespace {

using namespace attention_cases;

using entmax_operators::entmax_attention_composite;
using ::testing::HasSubstr;

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
