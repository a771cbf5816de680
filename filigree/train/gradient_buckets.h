// Sums of gradients over threads and workers that begin during the backward pass: the flat gradient
// is cut into buckets, and a bucket goes out as soon as no thread will add anything to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "filigree/model/transformer.h"
#include "filigree/train/worker_group.h"

namespace filigree::train {

class GradientBuckets {
 public:
  /// replicas: one per thread, all of one model, with gradients, of which those of frozen
  /// parameters have no part in this; they and `group` must outlive this and stay where they are.
  /// The sum comes to the first one's gradients.
  GradientBuckets(std::vector<model::Transformer>& replicas, WorkerGroup& group);
  ~GradientBuckets();

  /// Before an update's first backward pass.
  void start();
  /// A thread's next backward pass is its last one in this update.
  void expect_last_pass(int thread);
  /// A thread has made its last backward pass, or makes none.
  void finish_thread(int thread);
  /// When all threads are through: waits for the sums over the workers.
  void finish();

 private:
  struct Hook;
  struct Bucket {
    int64_t begin, end;  // in the flat gradient
    int parameters = 0;
    std::atomic<int> threads_left = 0;
    bool complete = false;
  };
  struct Thread {
    bool last_pass = false;
    std::vector<int> parameters_left;  // by bucket
  };

  void cut(const model::Parameters& parameters);
  void watch(model::Parameters& parameters, int thread);
  void add_parameter(int thread, size_t bucket);
  void complete(size_t bucket);

  std::vector<model::Transformer>& replicas_;
  WorkerGroup& group_;
  std::deque<Bucket> buckets_;     // in the order in which they go out
  std::vector<size_t> bucket_of_;  // by parameter
  std::vector<Thread> threads_;
  std::vector<std::shared_ptr<void>> nodes_;  // keep the hooks alive
  std::mutex mutex_;
  size_t next_ = 0;  // bucket to go out
};

}  // namespace filigree::train
