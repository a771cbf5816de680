// One update's gradient on several threads: each thread has a replica of the model that shares its
// weights, takes its share of the sentences, and runs forward and backward by itself. Nothing
// inside a thread is parallel, so that no step waits for another thread but the last one. Other
// workers (see WorkerGroup) are so many threads more, and their number makes no difference.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "filigree/model/transformer.h"
#include "filigree/text/parallel_corpus.h"
#include "filigree/train/gradient_buckets.h"
#include "filigree/train/worker_group.h"

namespace filigree::train {

struct GradientOptions {
  double dropout = 0, attention_dropout = 0, label_smoothing = 0;
  model::Precision precision = model::Precision::kFloat32;
};

class GradientWorkers {
 public:
  /// The replicas share `model`'s weights, which must outlive this, as `group` must. The workers of
  /// the group may have different numbers of threads. Parameters named `frozen` get no gradient:
  /// their places in gradient() stay zero. On a device other than the CPU there is one thread.
  GradientWorkers(const model::Transformer& model, int threads, WorkerGroup& group,
                  const std::set<std::string>& frozen = {});
  GradientWorkers(const GradientWorkers&) = delete;

  /// The gradient of the mean loss per target token of the batches together, for
  /// the masks that `dropout_key` names. Afterwards gradient() holds it. The result depends on the
  /// number of threads of all workers together (rounding, and which masks meet which sentence) but
  /// on nothing else. Every worker is given the same batches, and gets the same result.
  model::LossSums compute(std::span<const text::ParallelCorpus> batches,
                          const GradientOptions& options, uint64_t dropout_key);

  /// [parameters], of the last compute().
  const at::Tensor& gradient() const { return replicas_[0].parameters().gradients(); }
  /// Its Euclidean norm.
  double gradient_norm() const { return gradient_norm_; }

  int threads() const { return static_cast<int>(replicas_.size()); }

 private:
  void run_thread(int thread, std::span<const text::ParallelCorpus> batches,
                  const GradientOptions& options, uint64_t dropout_key, model::LossSums& sums);
  void sum_threads();
  void sum_workers();
  void sum_devices();

  WorkerGroup& group_;
  std::vector<model::Transformer> replicas_;
  std::unique_ptr<GradientBuckets> buckets_;  ///< only with other workers
  int first_share_ = 0, shares_ = 0;          ///< a share for each thread of each worker
  double gradient_norm_ = 0;
};

/// Calls body(thread, begin, end) on `threads` threads with ranges that cover 0 … size − 1.
void parallel_ranges(int threads, int64_t size,
                     const std::function<void(int, int64_t, int64_t)>& body);

}  // namespace filigree::train
