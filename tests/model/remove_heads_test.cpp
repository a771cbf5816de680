#include "filigree/model/remove_heads.h"

#include <gmock/gmock.h>
#include <torch/torch.h>

#include "filigree/base/error.h"
#include "tests/model/packing.h"
#include "tests/model/small_config.h"

namespace filigree::model {
namespace {

using testing::HasSubstr;

constexpr auto kEncoder = AttentionBlock::kEncoder, kCross = AttentionBlock::kCross,
               kDecoder = AttentionBlock::kDecoder;

Transformer four_heads(Transform transform = Transform::kAdaptive) {
  ModelConfig config = small_config(40, 2);
  config.heads = 4;
  for (const auto block : kAttentionBlocks) config.attention(block).transform = transform;
  Transformer model(config, at::kDouble);
  model.initialise(5);
  // Biases start at zero, where nothing could be seen of them.
  const torch::NoGradGuard no_grad;
  for (const ParameterSpec& spec : model.parameters().specs()) {
    if (spec.name.ends_with(".bias")) model.parameters()[spec.name].uniform_(-0.5, 0.5);
  }
  return model;
}

at::Tensor hidden_of(const Transformer& model) {
  const torch::NoGradGuard no_grad;
  const Sequences source = sequences_of({3, 5}), target = sequences_of({4, 2});
  return model.decode(target, model.encode(source), source);
}

// The same model with the heads' context vectors zero: no column of the output projection reads
// them.
Transformer silenced(const Transformer& model, const std::set<HeadPlace>& heads) {
  Transformer copy(model.config(),
                   model.parameters().with_values(model.parameters().values().clone()));
  const torch::NoGradGuard no_grad;
  for (const auto& [block, layer, head] : heads) {
    const auto i = static_cast<size_t>(layer);
    const Linear& output = block == kEncoder ? copy.encoder()[i].self_attention.output
                           : block == kCross ? copy.decoder()[i].cross_attention.output
                                             : copy.decoder()[i].self_attention.output;
    const int64_t size = model.config().head_size();
    output.weight.narrow(1, head * size, size).zero_();
  }
  return copy;
}

const std::set<HeadPlace> kSome = {{kEncoder, 0, 1}, {kEncoder, 1, 0}, {kEncoder, 1, 3},
                                   {kCross, 0, 0},   {kCross, 0, 1},   {kCross, 0, 2},
                                   {kDecoder, 1, 2}};

TEST(RemoveHeads, GivesWhatTheWholeModelGivesWithTheirOutputsZero) {
  for (const Transform transform : {Transform::kAdaptive, Transform::kSoftmax}) {
    const Transformer model = four_heads(transform);
    const Transformer smaller = without_heads(model, kSome);
    const at::Tensor expected = hidden_of(silenced(model, kSome));
    EXPECT_LT((hidden_of(smaller) - expected).abs().max().item<double>(), 1e-12);
    EXPECT_GT((hidden_of(model) - expected).abs().max().item<double>(), 1e-3);
  }
}

TEST(RemoveHeads, TakesTheirWeightsOut) {
  const Transformer model = four_heads(), smaller = without_heads(model, kSome);
  // Of a head of size 2 in a model of width 8: queries, keys and values with biases, output, α.
  const int64_t of_a_head = 3 * 2 * (8 + 1) + 2 * 8 + 1;
  EXPECT_EQ(model.parameters().count() - smaller.parameters().count(), 7 * of_a_head);
  EXPECT_EQ(smaller.config().total_heads(), 3 * 2 * 4 - 7);
  EXPECT_EQ(smaller.config().heads_of(kEncoder, 1), 2);
  EXPECT_EQ(smaller.config().heads_of(kCross, 0), 1);
  EXPECT_EQ(smaller.alpha(kCross, 0).item<double>(), model.alpha(kCross, 0)[3].item<double>());
}

TEST(RemoveHeads, WorksOnAModelThatHasLostSome) {
  const Transformer model = four_heads();
  // Heads 1 and then what is counted as 1 anew, which was 2.
  const Transformer twice =
      without_heads(without_heads(model, {{kEncoder, 0, 1}}), {{kEncoder, 0, 1}});
  const Transformer once = without_heads(model, {{kEncoder, 0, 1}, {kEncoder, 0, 2}});
  EXPECT_TRUE(torch::equal(twice.parameters().values(), once.parameters().values()));
  EXPECT_EQ(to_json(twice.config()), to_json(once.config()));
}

TEST(RemoveHeads, NothingRemovedIsACopy) {
  const Transformer model = four_heads(), copy = without_heads(model, {});
  EXPECT_TRUE(torch::equal(copy.parameters().values(), model.parameters().values()));
  EXPECT_NE(copy.parameters().values().data_ptr(), model.parameters().values().data_ptr());
  EXPECT_EQ(to_json(copy.config()), to_json(model.config()));
}

TEST(RemoveHeads, GradientsFlowThroughWhatIsLeft) {
  Transformer smaller = without_heads(four_heads(), kSome);
  smaller.parameters().require_gradients();
  const Sequences source = sequences_of({3, 5}), target = sequences_of({4, 2});
  const auto loss = [&] {
    return smaller.decode(target, smaller.encode(source), source).pow(2).sum();
  };
  loss().backward();
  const torch::NoGradGuard no_grad;
  const at::Tensor& logit = smaller.encoder()[1].self_attention.alpha_logit;
  const double gradient = logit.grad()[1].item<double>(), step = 1e-5;
  logit[1] += step;
  const double above = loss().item<double>();
  logit[1] -= 2 * step;
  EXPECT_NEAR(gradient, (above - loss().item<double>()) / (2 * step), 1e-6);
}

TEST(RemoveHeads, RefusesHeadsThatAreNotThereAndTheLastOne) {
  const Transformer model = four_heads();
  const auto failure = [&](const std::set<HeadPlace>& heads) -> std::string {
    try {
      without_heads(model, heads);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(failure({{kCross, 2, 0}}), "cross layer 3, head 1: the model has no such head");
  EXPECT_EQ(failure({{kDecoder, 0, 4}}), "decoder layer 1, head 5: the model has no such head");
  EXPECT_EQ(failure({{kDecoder, 1, 0}, {kDecoder, 1, 1}, {kDecoder, 1, 2}, {kDecoder, 1, 3}}),
            "decoder layer 2: cannot lose all its heads");
}

}  // namespace
}  // namespace filigree::model
