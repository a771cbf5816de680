#include "filigree/train/gradient_workers.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "filigree/train/pair_loss.h"
#include "tests/train/small_model.h"

namespace filigree::train {
namespace {

at::Tensor gradient(int threads, const std::vector<std::vector<int32_t>>& batches,
                    double dropout = 0) {
  const model::Transformer model = small_model();
  WorkerGroup alone;
  GradientWorkers workers(model, threads, alone);
  workers.compute(select_pairs(batches), {.dropout = dropout, .label_smoothing = 0.1}, 3);
  EXPECT_NEAR(workers.gradient_norm(), workers.gradient().norm().item<double>(), 1e-5);
  return workers.gradient().clone();
}

const std::vector<std::vector<int32_t>> kTogether = {{0, 1, 2, 3, 4, 5, 6}};
const std::vector<std::vector<int32_t>> kApart = {{0, 4, 5}, {1}, {2, 3, 6}};

TEST(GradientWorkers, AnyNumberOfThreadsGivesTheSameGradient) {
  const at::Tensor one = gradient(1, kTogether);
  for (const int threads : {2, 3, 9})
    EXPECT_LT(difference(gradient(threads, kTogether), one), 1e-5);
}

TEST(GradientWorkers, AccumulatedBatchesEqualOneLargeBatch) {
  EXPECT_LT(difference(gradient(2, kApart), gradient(2, kTogether)), 1e-5);
}

TEST(GradientWorkers, TheSameCallGivesTheSameBits) {
  EXPECT_TRUE(torch::equal(gradient(3, kApart, 0.3), gradient(3, kApart, 0.3)));
}

TEST(GradientWorkers, FrozenParametersGetNoGradientAndTheOthersTheSame) {
  const model::Transformer model = small_model();
  WorkerGroup alone;
  const std::set<std::string> frozen = {"embedding.weight",
                                        "encoder.layers.0.feed_forward.inner.weight",
                                        "decoder.layers.0.cross_attention.alpha_logit"};
  GradientWorkers workers(model, 2, alone, frozen);
  workers.compute(select_pairs(kTogether), {.label_smoothing = 0.1}, 3);
  at::Tensor expected = gradient(2, kTogether);
  int64_t offset = 0;
  for (const model::ParameterSpec& spec : model.parameters().specs()) {
    const int64_t size = model.parameters()[spec.name].numel();
    if (frozen.contains(spec.name)) expected.narrow(0, offset, size).zero_();
    offset += size;
  }
  EXPECT_TRUE(torch::equal(workers.gradient(), expected));
  EXPECT_NEAR(workers.gradient_norm(), expected.norm().item<double>(), 1e-5);
}

TEST(GradientWorkers, TheLossIsTheMeanPerTargetToken) {
  const model::Transformer model = small_model();
  const text::ParallelCorpus corpus = random_corpus(12);
  WorkerGroup alone;
  GradientWorkers workers(model, 2, alone);
  const model::LossSums sums = workers.compute(select_pairs(kApart), {}, 1);
  int64_t tokens = 0;
  for (int64_t i = 0; i < 7; ++i) tokens += corpus.target_length(i) + 1;
  EXPECT_EQ(sums.tokens, tokens);
  model::LossSums direct;
  const torch::NoGradGuard no_grad;
  pair_loss(model, pack_pairs(corpus, kTogether[0], model.config()), {}, {}, direct);
  EXPECT_NEAR(sums.loss, direct.loss, 1e-4);
  EXPECT_NEAR(sums.loss, -sums.log_likelihood, 1e-4);
}

TEST(PairLoss, InputsAreShiftedByOne) {
  text::ParallelCorpus corpus;
  const std::vector<int32_t> source = {7, 8}, target = {9, 10, 11};
  corpus.add(source, target);
  const PackedPairs pairs = pack_pairs(corpus, std::vector<int32_t>{0}, small_model().config());
  EXPECT_TRUE(torch::equal(pairs.source.tokens, torch::tensor({7, 8, 3}, at::kInt)));
  EXPECT_TRUE(torch::equal(pairs.target_input.tokens, torch::tensor({2, 9, 10, 11}, at::kInt)));
  EXPECT_TRUE(torch::equal(pairs.gold, torch::tensor({9, 10, 11, 3}, at::kInt)));
}

}  // namespace
}  // namespace filigree::train
