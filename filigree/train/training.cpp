#include "filigree/train/training.h"

#include <algorithm>

#include "filigree/base/random.h"
#include "filigree/train/device.h"
#include "filigree/train/random_streams.h"

namespace filigree::train {

std::vector<text::ParallelCorpus> Training::next_batches() {
  const int64_t end = std::min(progress.batch + options.accumulate, batches->size(progress.epoch));
  std::vector<text::ParallelCorpus> next;
  for (; progress.batch < end; ++progress.batch) {
    next.push_back(batches->batch(progress.epoch, progress.batch));
  }
  return next;
}

model::LossSums Training::compute(std::span<const text::ParallelCorpus> next) {
  return workers->compute(
      next,
      {.dropout = options.dropout,
       .attention_dropout = options.attention_dropout,
       .label_smoothing = options.label_smoothing,
       .precision = parse_precision(options.precision)},
      combine(combine(progress.seed, kDropout), static_cast<uint64_t>(progress.step)));
}

double Training::epoch() const {
  const auto whole = static_cast<double>(progress.epoch);
  if (progress.batch == 0) return whole;
  return whole +
         static_cast<double>(progress.batch) / static_cast<double>(batches->size(progress.epoch));
}

const at::Tensor& Training::values_to_use() const {
  return optimizer.average.defined() ? optimizer.average : model.parameters().values();
}

void Training::share_state() {
  group.broadcast(progress);
  group.broadcast(model.parameters().values());
  for (const at::Tensor& state :
       {optimizer.first_moment, optimizer.second_moment, optimizer.average}) {
    if (state.defined()) group.broadcast(state);
  }
}

}  // namespace filigree::train
