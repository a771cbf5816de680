#include "filigree/train/gradient_workers.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "filigree/base/random.h"
#include "filigree/base/threads.h"
#include "filigree/train/adam.h"
#include "filigree/train/pair_loss.h"

namespace filigree::train {
namespace {

// Every shares-th pair: a batch is sorted by length, so that the shares are alike.
std::vector<int32_t> share_of(const text::ParallelCorpus& batch, int share, int shares) {
  std::vector<int32_t> pairs;
  for (int64_t i = share; i < batch.size(); i += shares) pairs.push_back(static_cast<int32_t>(i));
  return pairs;
}

int64_t target_tokens(std::span<const text::ParallelCorpus> batches) {
  int64_t tokens = 0;
  for (const auto& batch : batches) {
    for (const text::PairLength& pair : batch.lengths()) tokens += pair.target + 1;
  }
  return tokens;
}

}  // namespace

void parallel_ranges(int threads, int64_t size,
                     const std::function<void(int, int64_t, int64_t)>& body) {
  run_parallel(threads, [&](int thread) {
    body(thread, size * thread / threads, size * (thread + 1) / threads);
  });
}

GradientWorkers::GradientWorkers(const model::Transformer& model, int threads, WorkerGroup& group,
                                 const std::set<std::string>& frozen)
    : group_(group) {
  if (!model.parameters().values().is_cpu()) threads = 1;
  for (int i = 0; i < threads; ++i) {
    replicas_.emplace_back(model.config(), model.parameters().replica());
    replicas_.back().parameters().require_gradients(frozen);
  }
  const std::vector<int> threads_of = group.gather(threads);
  const auto mine = threads_of.begin() + group.rank();
  first_share_ = std::accumulate(threads_of.begin(), mine, 0);
  shares_ = std::accumulate(mine, threads_of.end(), first_share_);
  if (group.size() > 1 && gradient().is_cpu())
    buckets_ = std::make_unique<GradientBuckets>(replicas_, group);
}

model::LossSums GradientWorkers::compute(std::span<const text::ParallelCorpus> batches,
                                         const GradientOptions& options, uint64_t dropout_key) {
  std::vector<model::LossSums> sums(replicas_.size());
  if (buckets_) buckets_->start();
  run_parallel(threads(), [&](int thread) {
    run_thread(thread, batches, options, dropout_key, sums[static_cast<size_t>(thread)]);
  });
  if (!gradient().is_cpu()) {
    sum_devices();
  } else {
    buckets_ ? sum_workers() : sum_threads();
  }
  return total(group_.gather(total(sums)));
}

void GradientWorkers::run_thread(int thread, std::span<const text::ParallelCorpus> batches,
                                 const GradientOptions& options, uint64_t dropout_key,
                                 model::LossSums& sums) {
  const double scale = 1 / static_cast<double>(target_tokens(batches));
  const int share = first_share_ + thread;
  model::Transformer& replica = replicas_[static_cast<size_t>(thread)];
  replica.parameters().gradients().zero_();
  for (size_t b = 0; b < batches.size(); ++b) {
    const std::vector<int32_t> pairs = share_of(batches[b], share, shares_);
    if (pairs.empty()) continue;
    model::ForwardOptions forward_options;
    forward_options.dropout = options.dropout;
    forward_options.attention_dropout = options.attention_dropout;
    forward_options.precision = options.precision;
    forward_options.dropout_key = combine(combine(dropout_key, b), static_cast<uint64_t>(share));
    const at::Tensor loss =
        pair_loss(replica, pack_pairs(batches[b], pairs, replica.config()), forward_options,
                  {.label_smoothing = options.label_smoothing,
                   .scale = scale,
                   .precision = options.precision},
                  sums);
    if (buckets_ && b + 1 == batches.size()) buckets_->expect_last_pass(thread);
    loss.backward();
  }
  if (buckets_) buckets_->finish_thread(thread);
}

void GradientWorkers::sum_threads() {
  std::vector<double> norms(replicas_.size(), 0);
  float* const sum = gradient().data_ptr<float>();
  parallel_ranges(threads(), gradient().numel(), [&](int thread, int64_t begin, int64_t end) {
    for (size_t r = 1; r < replicas_.size(); ++r) {
      const float* part = replicas_[r].parameters().gradients().data_ptr<float>();
      norms[static_cast<size_t>(thread)] =
          add_and_square_norm(end - begin, part + begin, sum + begin);
    }
    if (replicas_.size() == 1) norms[0] = square_norm(end - begin, sum + begin);
  });
  gradient_norm_ = std::sqrt(std::accumulate(norms.begin(), norms.end(), 0.0));
}

// Each worker takes its share of the norm, so that all have the same one to the bit even where
// their processors round differently.
void GradientWorkers::sum_workers() {
  buckets_->finish();
  const int64_t size = gradient().numel();
  const int64_t begin = size * group_.rank() / group_.size();
  const int64_t end = size * (group_.rank() + 1) / group_.size();
  const std::vector<double> norms =
      group_.gather(square_norm(end - begin, gradient().data_ptr<float>() + begin));
  gradient_norm_ = std::sqrt(std::accumulate(norms.begin(), norms.end(), 0.0));
}

// Each worker has one thread and a device of its own; what they add up goes through main memory.
void GradientWorkers::sum_devices() {
  if (group_.size() > 1) {
    const at::Tensor sum = gradient().cpu();
    group_.start_sum(sum);
    group_.finish_sums();
    gradient().copy_(sum);
  }
  gradient_norm_ = gradient().norm().item<double>();
}

}  // namespace filigree::train
