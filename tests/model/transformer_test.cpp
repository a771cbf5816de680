#include "filigree/model/transformer.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/gradcheck.h"
#include "tests/model/packing.h"
#include "tests/model/small_config.h"

namespace filigree::model {
namespace {

ModelConfig two_layers(Transform transform = Transform::kAdaptive) {
  ModelConfig config = small_config(40, 2);
  for (const auto block : kAttentionBlocks) config.attention(block).transform = transform;
  return config;
}

at::Tensor loss_of(const Transformer& model, const Sequences& source, const Sequences& target,
                   const ForwardOptions& options = {}) {
  const at::Tensor hidden = model.decode(target, model.encode(source, options), source, options);
  LossSums sums;
  return linear_loss(hidden, model.output_weight(), target.tokens, {}, sums);
}

// Central differences of the loss in a sample of the entries of every parameter.
void expect_parameter_gradients(ModelConfig config, const ForwardOptions& options) {
  Transformer model(config, at::kDouble);
  model.initialise(3);
  model.parameters().require_gradients();
  const Sequences source = sequences_of({3, 5}), target = sequences_of({4, 2});
  loss_of(model, source, target, options).backward();
  const at::Tensor gradient = model.parameters().gradients();
  const double scale = gradient.abs().max().item<double>();
  double* const values = model.parameters().values().data_ptr<double>();
  const torch::NoGradGuard no_grad;
  int64_t offset = 0;
  for (const ParameterSpec& spec : model.parameters().specs()) {
    const int64_t size = model.parameters()[spec.name].numel();
    for (int64_t i = 0; i < size; i += std::max<int64_t>(1, size / 5)) {
      const double kept = values[offset + i], step = 1e-6;
      values[offset + i] = kept + step;
      const double above = loss_of(model, source, target, options).item<double>();
      values[offset + i] = kept - step;
      const double below = loss_of(model, source, target, options).item<double>();
      values[offset + i] = kept;
      EXPECT_NEAR(gradient[offset + i].item<double>(), (above - below) / (2 * step), 1e-6 * scale)
          << spec.name << " " << i;
    }
    offset += size;
  }
}

TEST(Transformer, GradientsOfEveryParameterAreRightAlphaIncluded) {
  expect_parameter_gradients(two_layers(), {});
}

TEST(Transformer, GradientsAreRightWithDropoutAndPostNorm) {
  ModelConfig config = two_layers();
  config.pre_norm = false;
  config.tied_embeddings = false;
  config.shared_vocabulary = false;
  expect_parameter_gradients(config, {.dropout = 0.2, .attention_dropout = 0.3, .dropout_key = 5});
}

TEST(Transformer, EveryTransformTrainsWithoutLearnedAlpha) {
  for (const Transform transform :
       {Transform::kSoftmax, Transform::kSparsemax, Transform::kEntmax15, Transform::kEntmax}) {
    expect_parameter_gradients(two_layers(transform), {});
  }
}

TEST(Transformer, GradientsInFloatEqualThoseInDouble) {
  ModelConfig config = two_layers();
  config.d_model = 32;
  config.heads = 4;
  Transformer wide(config, at::kDouble), narrow(config);
  wide.initialise(4);
  narrow.initialise(4);
  const Sequences source = sequences_of({3, 12, 7}), target = sequences_of({9, 2, 14});
  const ForwardOptions options{.dropout = 0.1, .attention_dropout = 0.1, .dropout_key = 8};
  for (Transformer* model : {&wide, &narrow}) {
    model->parameters().require_gradients();
    loss_of(*model, source, target, options).backward();
  }
  const at::Tensor expected = wide.parameters().gradients();
  const at::Tensor error = narrow.parameters().gradients().to(at::kDouble) - expected;
  EXPECT_LT(error.norm().item<double>(), 1e-4 * expected.norm().item<double>());
  for (const ParameterSpec& spec : wide.parameters().specs()) {
    if (spec.name.find("alpha") == std::string::npos) continue;
    const at::Tensor a = narrow.parameters()[spec.name].grad().to(at::kDouble);
    const at::Tensor b = wide.parameters()[spec.name].grad();
    EXPECT_LT((a - b).abs().max().item<double>(), 1e-3 * b.abs().max().item<double>()) << spec.name;
  }
}

TEST(Transformer, ASentenceDoesNotKnowTheOthersInItsBatch) {
  Transformer model(two_layers());
  model.initialise(1);
  const torch::NoGradGuard no_grad;
  const Sequences both = sequences_of({3, 6}), alone = sequences_of({6}, 7);
  const at::Tensor memory_both = model.encode(both), memory_alone = model.encode(alone);
  EXPECT_LT((memory_both.slice(0, 3) - memory_alone).abs().max().item<double>(), 1e-5);
  const Sequences target_both = sequences_of({2, 4}), target_alone = sequences_of({4}, 6);
  const at::Tensor hidden_both = model.decode(target_both, memory_both, both);
  const at::Tensor hidden_alone = model.decode(target_alone, memory_alone, alone);
  EXPECT_LT((hidden_both.slice(0, 2) - hidden_alone).abs().max().item<double>(), 1e-5);
}

TEST(Transformer, TheDecoderDoesNotSeeTheFuture) {
  Transformer model(two_layers());
  model.initialise(1);
  const torch::NoGradGuard no_grad;
  const Sequences source = sequences_of({4});
  const at::Tensor memory = model.encode(source);
  const at::Tensor whole = model.decode(sequences_of({5}), memory, source);
  const at::Tensor prefix = model.decode(sequences_of({3}), memory, source);
  EXPECT_LT((whole.slice(0, 0, 3) - prefix).abs().max().item<double>(), 1e-5);
}

TEST(Transformer, SoftmaxEncoderLayerEqualsTorchs) {
  ModelConfig config = two_layers(Transform::kSoftmax);
  config.encoder_layers = 1;
  config.pre_norm = false;
  Transformer model(config);
  model.initialise(2);
  const EncoderLayer& layer = model.encoder()[0];
  torch::nn::TransformerEncoderLayer reference(
      torch::nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(12).dropout(0));
  reference->eval();
  const torch::NoGradGuard no_grad;
  reference->self_attn->in_proj_weight.copy_(layer.self_attention.qkv.weight);
  reference->self_attn->in_proj_bias.copy_(layer.self_attention.qkv.bias);
  reference->self_attn->out_proj->weight.copy_(layer.self_attention.output.weight);
  reference->self_attn->out_proj->bias.copy_(layer.self_attention.output.bias);
  reference->linear1->weight.copy_(layer.feed_forward.inner.weight);
  reference->linear2->weight.copy_(layer.feed_forward.outer.weight);
  reference->linear1->bias.zero_();
  reference->linear2->bias.zero_();
  const Sequences source = sequences_of({6});
  const at::Tensor x = embed(source, model.source_embedding(), 0, 0);
  const at::Tensor expected = reference(x.unsqueeze(1)).squeeze(1);
  EXPECT_LT((model.encode(source) - expected).abs().max().item<double>(), 1e-4);
}

TEST(Transformer, InitialisationDependsOnTheSeedAlone) {
  Transformer a(two_layers()), b(two_layers()), c(two_layers());
  a.initialise(1);
  b.initialise(1);
  c.initialise(2);
  EXPECT_TRUE(torch::equal(a.parameters().values(), b.parameters().values()));
  EXPECT_FALSE(torch::equal(a.parameters().values(), c.parameters().values()));
}

TEST(Transformer, AlphaStartsBetweenItsBoundsWithThePapersSpread) {
  ModelConfig config = two_layers();
  config.heads = 8;
  config.encoder_layers = 50;
  Transformer model(config);
  model.initialise(1);
  std::vector<at::Tensor> all;
  for (int64_t i = 0; i < 50; ++i) all.push_back(model.alpha(AttentionBlock::kEncoder, i).detach());
  const at::Tensor alpha = torch::cat(all);
  EXPECT_GT(alpha.min().item<double>(), 1);
  EXPECT_LT(alpha.max().item<double>(), 2);
  // 1 + σ(N(0, 1)) has mean 1.5 and deviation 0.21; 400 draws.
  EXPECT_NEAR(alpha.mean().item<double>(), 1.5, 0.05);
  EXPECT_NEAR(alpha.std().item<double>(), 0.21, 0.04);
}

TEST(Transformer, CountsAttentionPairsAsThePaperDoes) {
  Transformer model(two_layers(Transform::kSoftmax));
  model.initialise(1);
  const torch::NoGradGuard no_grad;
  AttentionCounts counts(model.config());
  ForwardOptions options;
  options.counts = &counts;
  const Sequences source = sequences_of({3, 2}), target = sequences_of({4, 1});
  model.decode(target, model.encode(source, options), source, options);
  EXPECT_EQ(counts.pairs, (std::array<int64_t, 3>{9 + 4, 12 + 2, 10 + 1}));
  for (const auto block : kAttentionBlocks) EXPECT_EQ(counts.density(block, 1, 1), 1);
}

TEST(Transformer, RecordsTheWeightsOfEveryBlockLayerAndSentence) {
  Transformer model(two_layers());
  model.initialise(1);
  const torch::NoGradGuard no_grad;
  AttentionCounts counts(model.config()), recorded(model.config());
  int64_t matrices = 0;
  ForwardOptions options;
  options.counts = &counts;
  options.recorder = [&](const AttentionRecord& record) {
    ++matrices;
    ASSERT_EQ(record.weights.dim(), 3);
    EXPECT_TRUE(torch::allclose(record.weights.sum(2), torch::ones({1}), 1e-5, 1e-5));
    const auto block = static_cast<size_t>(record.block);
    for (int64_t h = 0; h < 2; ++h) {
      recorded.nonzero[block][record.layer * 2 + h] +=
          (record.weights[h] > 0).sum().item<int64_t>();
    }
  };
  const Sequences source = sequences_of({3, 2}), target = sequences_of({4, 1});
  model.decode(target, model.encode(source, options), source, options);
  EXPECT_EQ(matrices, 3 * 2 * 2);
  EXPECT_EQ(recorded.nonzero, counts.nonzero);
}

TEST(Transformer, RecordsWhatTorchComputes) {
  Transformer model(two_layers(Transform::kSoftmax));
  model.initialise(1);
  const torch::NoGradGuard no_grad;
  at::Tensor weights;
  ForwardOptions options;
  options.recorder = [&](const AttentionRecord& record) {
    if (record.layer == 0 && record.sentence == 1) weights = record.weights.clone();
  };
  model.encode(sequences_of({3, 5}), options);
  const SelfAttention& attention = model.encoder()[0].self_attention;
  const at::Tensor alone = embed(sequences_of({5}, 7), model.source_embedding(), 0, 0);
  const at::Tensor qkv = attention.qkv(attention.norm(alone)).view({5, 3, 2, 4});  // [N, qkv, H, d]
  const at::Tensor query = qkv.select(1, 0).transpose(0, 1), key = qkv.select(1, 1).transpose(0, 1);
  const at::Tensor expected = torch::softmax(torch::bmm(query, key.transpose(1, 2)) / 2, 2);
  EXPECT_TRUE(torch::allclose(weights, expected, 1e-5, 1e-6));
}

}  // namespace
}  // namespace filigree::model
