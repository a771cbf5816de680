// One update's gradient on several threads: each thread has a replica of the model that shares its
// weights, takes its share of the sentences, and runs forward and backward by itself. Nothing
// inside a thread is parallel, so that no step waits for another thread but the last one.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "filigree/model/transformer.h"
#include "filigree/text/parallel_corpus.h"

namespace filigree::train {

struct GradientOptions {
  double dropout = 0, attention_dropout = 0, label_smoothing = 0;
};

class GradientWorkers {
 public:
  /// The replicas share `model`'s weights, which must outlive this.
  GradientWorkers(const model::Transformer& model, int threads);

  /// The gradient of the mean loss per target token of the batches together, for
  /// the masks that `dropout_key` names. Afterwards gradient() holds it. The result depends on the
  /// number of threads (rounding, and which masks meet which sentence) but on nothing else.
  model::LossSums compute(std::span<const text::ParallelCorpus> batches,
                          const GradientOptions& options, uint64_t dropout_key);

  /// [parameters], of the last compute().
  const at::Tensor& gradient() const { return replicas_[0].parameters().gradients(); }
  /// Its Euclidean norm.
  double gradient_norm() const { return gradient_norm_; }

  int threads() const { return static_cast<int>(replicas_.size()); }

 private:
  void sum_gradients();

  std::vector<model::Transformer> replicas_;
  double gradient_norm_ = 0;
};

/// Calls body(thread, begin, end) on `threads` threads with ranges that cover 0 … size − 1.
void parallel_ranges(int threads, int64_t size,
                     const std::function<void(int, int64_t, int64_t)>& body);

}  // namespace filigree::train
