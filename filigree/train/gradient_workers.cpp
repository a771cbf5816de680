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

// Every threads-th pair: a batch is sorted by length, so that the shares are alike.
std::vector<int32_t> share_of(const text::ParallelCorpus& batch, int thread, int threads) {
  std::vector<int32_t> share;
  for (int64_t i = thread; i < batch.size(); i += threads) {
    share.push_back(static_cast<int32_t>(i));
  }
  return share;
}

}  // namespace

void parallel_ranges(int threads, int64_t size,
                     const std::function<void(int, int64_t, int64_t)>& body) {
  run_parallel(threads, [&](int thread) {
    body(thread, size * thread / threads, size * (thread + 1) / threads);
  });
}

GradientWorkers::GradientWorkers(const model::Transformer& model, int threads) {
  for (int i = 0; i < threads; ++i) {
    replicas_.emplace_back(model.config(), model.parameters().replica());
    replicas_.back().parameters().require_gradients();
  }
}

model::LossSums GradientWorkers::compute(std::span<const text::ParallelCorpus> batches,
                                         const GradientOptions& options, uint64_t dropout_key) {
  int64_t tokens = 0;
  for (const auto& batch : batches) {
    for (const text::PairLength& pair : batch.lengths()) tokens += pair.target + 1;
  }
  std::vector<model::LossSums> sums(replicas_.size());
  run_parallel(threads(), [&](int thread) {
    model::Transformer& replica = replicas_[static_cast<size_t>(thread)];
    replica.parameters().gradients().zero_();
    for (size_t b = 0; b < batches.size(); ++b) {
      const std::vector<int32_t> share = share_of(batches[b], thread, threads());
      if (share.empty()) continue;
      model::ForwardOptions forward_options;
      forward_options.dropout = options.dropout;
      forward_options.attention_dropout = options.attention_dropout;
      forward_options.dropout_key = combine(combine(dropout_key, b), static_cast<uint64_t>(thread));
      const at::Tensor loss = pair_loss(
          replica, pack_pairs(batches[b], share, replica.config()), forward_options,
          {.label_smoothing = options.label_smoothing, .scale = 1 / static_cast<double>(tokens)},
          sums[static_cast<size_t>(thread)]);
      loss.backward();
    }
  });
  sum_gradients();
  return total(sums);
}

void GradientWorkers::sum_gradients() {
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

}  // namespace filigree::train
