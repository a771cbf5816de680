#include "filigree/model/attention.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "filigree/entmax/entmax.h"
#include "tests/gradcheck.h"
#include "tests/model/packing.h"

namespace filigree::model {
namespace {

using testing::Test;

// The same attention from plain tensor operations, one sequence and head at a time.
at::Tensor plain_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const at::Tensor& alpha, const Sequences& queries, const Sequences& keys,
                           bool causal) {
  const int64_t heads = alpha.numel(), size = q.size(1) / heads;
  std::vector<at::Tensor> rows;
  for (int64_t s = 0; s < queries.size(); ++s) {
    std::vector<at::Tensor> columns;
    const int64_t n = queries.spans().length[s], m = keys.spans().length[s];
    for (int64_t h = 0; h < heads; ++h) {
      const auto part = [&](const at::Tensor& x, const Sequences& sequences) {
        return x.narrow(0, sequences.spans().begin[s], sequences.spans().length[s])
            .narrow(1, h * size, size);
      };
      at::Tensor z =
          part(q, queries).matmul(part(k, keys).t()) / std::sqrt(static_cast<double>(size));
      if (causal) z = z + torch::full({n, m}, -INFINITY, z.options()).triu(1);
      columns.push_back(entmax(z, alpha[h], -1).matmul(part(v, keys)));
    }
    rows.push_back(torch::cat(columns, 1));
  }
  return torch::cat(rows, 0);
}

at::Tensor random(at::IntArrayRef shape, int64_t seed) {
  torch::manual_seed(seed);
  return torch::randn(shape, at::kDouble);
}

TEST(Attention, SelfAttentionEqualsThePlainComposition) {
  for (const bool causal : {false, true}) {
    const Sequences sequences = sequences_of({4, 1, 6});
    const at::Tensor qkv = random({11, 24}, 1), alpha = torch::tensor({1.0, 1.7}, at::kDouble);
    const at::Tensor fused = self_attention(qkv, alpha, sequences, {.heads = 2, .causal = causal});
    const auto parts = qkv.chunk(3, 1);
    const at::Tensor plain =
        plain_attention(parts[0], parts[1], parts[2], alpha, sequences, sequences, causal);
    EXPECT_LT((fused - plain).abs().max().item<double>(), 1e-12);
  }
}

TEST(Attention, GradientsOfSelfAttentionAreRightAlphaIncluded) {
  for (const bool causal : {false, true}) {
    const Sequences sequences = sequences_of({3, 1, 5});
    const at::Tensor qkv = random({9, 24}, 2);
    for (const std::vector<double>& alphas :
         {std::vector<double>{1.0001, 1.3}, {1.5, 1.77}, {2.0, 2.5}}) {
      const at::Tensor alpha = torch::tensor(alphas, at::kDouble);
      expect_gradients(
          [&](const std::vector<at::Tensor>& x) {
            return self_attention(x[0], x[1], sequences, {.heads = 2, .causal = causal});
          },
          {qkv, alpha}, 1e-6, 1e-6);
    }
  }
}

TEST(Attention, GradientsOfCrossAttentionAreRightWithDropout) {
  const Sequences target = sequences_of({2, 4}), source = sequences_of({5, 3});
  expect_gradients(
      [&](const std::vector<at::Tensor>& x) {
        return cross_attention(x[0], x[1], x[2], target, source,
                               {.heads = 2, .dropout = 0.4, .dropout_key = 77});
      },
      {random({6, 8}, 3), random({8, 16}, 4), torch::tensor({1.2, 1.6}, at::kDouble)}, 1e-6, 1e-6);
}

TEST(Attention, SoftmaxEqualsTorchsMultiheadAttention) {
  torch::manual_seed(5);
  torch::nn::MultiheadAttention reference(torch::nn::MultiheadAttentionOptions(12, 3));
  reference->to(at::kDouble);
  const at::Tensor x = random({7, 12}, 6);
  const at::Tensor expected =
      std::get<0>(reference(x.unsqueeze(1), x.unsqueeze(1), x.unsqueeze(1)));
  const at::Tensor qkv = torch::linear(x, reference->in_proj_weight, reference->in_proj_bias);
  const at::Tensor context =
      self_attention(qkv, torch::ones({3}, at::kDouble), sequences_of({7}), {.heads = 3});
  const at::Tensor output =
      torch::linear(context, reference->out_proj->weight, reference->out_proj->bias);
  EXPECT_LT((output - expected.squeeze(1)).abs().max().item<double>(), 1e-12);
}

TEST(Attention, DropoutKeepsTheExpectedContext) {
  const Sequences sequences = sequences_of({6});
  const at::Tensor qkv = random({6, 12}, 7), alpha = torch::full({2}, 1.5, at::kDouble);
  const at::Tensor whole = self_attention(qkv, alpha, sequences, {.heads = 2});
  at::Tensor mean = torch::zeros_like(whole);
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    mean += self_attention(qkv, alpha, sequences,
                           {.heads = 2, .dropout = 0.2, .dropout_key = mix_key(i)}) /
            kDraws;
  }
  EXPECT_LT((mean - whole).abs().max().item<double>(), 0.1);
}

TEST(Attention, AnEmptyBatchGivesAnEmptyContext) {
  const at::Tensor context =
      self_attention(torch::empty({0, 24}), torch::ones({2}), sequences_of({}), {.heads = 2});
  EXPECT_EQ(context.sizes(), (std::vector<int64_t>{0, 8}));
}

}  // namespace
}  // namespace filigree::model
