// Several workers in one process, a thread each, which meet over the loopback network.
#include "filigree/train/worker_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <array>
#include <numeric>
#include <optional>

#include "filigree/base/progress.h"
#include "filigree/base/threads.h"
#include "filigree/train/gradient_workers.h"
#include "filigree/train/rendezvous.h"
#include "tests/train/small_model.h"

namespace filigree::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Calls body(group) in each worker's thread.
void with_workers(int size, const std::function<void(WorkerGroup&)>& body) {
  const Rendezvous first({.size = size});
  run_parallel(size, [&](int rank) {
    std::optional<Rendezvous> other;
    if (rank > 0)
      other.emplace(WorkerPlace{.rank = rank, .size = size, .port = first.place().port});
    WorkerGroup group(rank > 0 ? *other : first, [] {});
    body(group);
  });
}

TEST(WorkerGroup, EveryWorkerGetsWhatAllHaveInTheOrderOfTheirRanks) {
  with_workers(3, [](WorkerGroup& group) {
    EXPECT_THAT(group.gather(10.5 * group.rank()), ElementsAre(0, 10.5, 21));
    EXPECT_THAT(group.gather_text(std::string(static_cast<size_t>(2 - group.rank()), 'x')),
                ElementsAre("xx", "x", ""));
    std::array<int64_t, 2> numbers = {group.rank(), int64_t{1} << 40};
    group.sum(numbers);
    EXPECT_THAT(numbers, ElementsAre(3, int64_t{3} << 40));
    group.leave();
  });
}

TEST(WorkerGroup, BroadcastGivesWhatTheFirstHas) {
  with_workers(3, [](WorkerGroup& group) {
    int64_t number = 7 + group.rank();
    group.broadcast(number);
    EXPECT_EQ(number, 7);
    std::string text = group.is_first() ? "a longer text" : "short";
    group.broadcast_text(text);
    EXPECT_EQ(text, "a longer text");
    const at::Tensor values = torch::full({5}, group.rank() + 2.0);
    group.broadcast(values);
    EXPECT_TRUE(torch::equal(values, torch::full({5}, 2.0)));
    group.leave();
  });
}

TEST(WorkerGroup, SumsRunTogetherAndAreTheSameToTheBit) {
  constexpr int64_t kParts = 4, kPart = 1000;
  std::vector<at::Tensor> results(3);
  with_workers(3, [&](WorkerGroup& group) {
    at::Generator random = at::detail::createCPUGenerator(static_cast<uint64_t>(group.rank()));
    const at::Tensor values = torch::randn({kParts * kPart}, random);
    const at::Tensor before = values.clone();
    for (int64_t i = 0; i < kParts; ++i) group.start_sum(values.narrow(0, i * kPart, kPart));
    group.finish_sums();
    results[static_cast<size_t>(group.rank())] = values;
    group.leave();
  });
  at::Tensor expected = torch::zeros({kParts * kPart}, at::kDouble);
  for (uint64_t rank = 0; rank < 3; ++rank) {
    expected += torch::randn({kParts * kPart}, at::detail::createCPUGenerator(rank));
  }
  EXPECT_LT((results[0] - expected).abs().max().item<double>(), 1e-5);
  EXPECT_TRUE(torch::equal(results[0], results[1]));
  EXPECT_TRUE(torch::equal(results[0], results[2]));
}

TEST(WorkerGroup, AReportedFailureEndsTheOthersWithItsReason) {
  const double started = now_seconds();
  with_workers(3, [](WorkerGroup& group) {
    if (group.rank() == 1) {
      EXPECT_TRUE(group.report_failure("the disk is full"));
      return;
    }
    try {
      group.barrier();
      ADD_FAILURE();
    } catch (const WorkerLost& error) {
      EXPECT_THAT(error.what(), HasSubstr("worker 1 (of 0 to 2): the disk is full"));
    }
  });
  EXPECT_LT(now_seconds() - started, 60);
}

TEST(WorkerGroup, AWorkerAloneNeedsNobody) {
  WorkerGroup group;
  EXPECT_THAT(group.gather(5), ElementsAre(5));
  EXPECT_THAT(group.gather_text("x"), ElementsAre("x"));
  group.barrier();
  group.leave();
  EXPECT_FALSE(group.report_failure("nobody listens"));
}

// The gradient of workers with these numbers of threads.
at::Tensor gradient_of(const std::vector<int>& threads, double& norm, model::LossSums& sums,
                       double dropout, const std::set<std::string>& frozen = {}) {
  const GradientOptions options = {.dropout = dropout, .label_smoothing = 0.1};
  const auto batches = select_pairs({{0, 4, 5, 7, 8}, {1, 9, 10, 11}, {2, 3, 6}});
  at::Tensor result;
  const auto compute = [&](WorkerGroup& group) {
    const model::Transformer model = small_model();
    GradientWorkers workers(model, threads[static_cast<size_t>(group.rank())], group, frozen);
    workers.compute(batches, options, 2);  // The second time must not see the first.
    const model::LossSums own = workers.compute(batches, options, 3);
    if (group.is_first()) {
      norm = workers.gradient_norm();
      sums = own;
      result = workers.gradient().clone();
    }
    group.leave();
  };
  if (threads.size() == 1) {
    WorkerGroup alone;
    compute(alone);
  } else {
    with_workers(static_cast<int>(threads.size()), compute);
  }
  return result;
}

TEST(GradientWorkers, WorkersAreSoManyThreadsMore) {
  for (const std::vector<int>& threads :
       std::vector<std::vector<int>>{{1, 1}, {1, 1, 1}, {2, 1}, {1, 3, 2}, {4, 9}}) {
    double norm = 0, expected_norm = 0;
    model::LossSums sums, expected_sums;
    const int together = std::accumulate(threads.begin(), threads.end(), 0);
    const at::Tensor gradient = gradient_of(threads, norm, sums, 0.3);
    const at::Tensor expected = gradient_of({together}, expected_norm, expected_sums, 0.3);
    EXPECT_LT(difference(gradient, expected), 1e-5);
    EXPECT_NEAR(norm, expected_norm, 1e-5 * expected_norm);
    EXPECT_NEAR(sums.loss, expected_sums.loss, 1e-5 * expected_sums.loss);
    EXPECT_EQ(sums.tokens, expected_sums.tokens);
  }
}

TEST(GradientWorkers, WorkersAgreeOnWhatIsNotFrozen) {
  const std::set<std::string> frozen = {"embedding.weight", "decoder.norm.weight",
                                        "encoder.layers.0.self_attention.qkv.weight"};
  double norm = 0, expected_norm = 0;
  model::LossSums sums;
  const at::Tensor gradient = gradient_of({2, 1}, norm, sums, 0.3, frozen);
  const at::Tensor expected = gradient_of({3}, expected_norm, sums, 0.3, frozen);
  EXPECT_LT(difference(gradient, expected), 1e-5);
  EXPECT_NEAR(norm, expected_norm, 1e-5 * expected_norm);
}

}  // namespace
}  // namespace filigree::train
