#include "filigree/train/gradient_buckets.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/torch.h>

#include "filigree/train/adam.h"

namespace filigree::train {
namespace {

// 4 MiB: large enough for the wire's full speed, small enough that the first one goes out early.
constexpr int64_t kBucketSize = 1 << 20;

}  // namespace

// Called after a parameter's gradient of one backward pass is added to its place.
struct GradientBuckets::Hook : torch::autograd::FunctionPostHook {
  Hook(GradientBuckets& buckets, int thread, size_t bucket)
      : buckets(buckets), thread(thread), bucket(bucket) {}
  torch::autograd::variable_list operator()(
      const torch::autograd::variable_list& outputs,
      const torch::autograd::variable_list& /*inputs*/) override {
    buckets.add_parameter(thread, bucket);
    return outputs;
  }
  GradientBuckets& buckets;
  int thread;
  size_t bucket;
};

GradientBuckets::GradientBuckets(std::vector<model::Transformer>& replicas, WorkerGroup& group)
    : replicas_(replicas), group_(group), threads_(replicas.size()) {
  cut(replicas_[0].parameters());
  for (size_t i = 0; i < replicas_.size(); ++i) {
    watch(replicas_[i].parameters(), static_cast<int>(i));
  }
}

GradientBuckets::~GradientBuckets() = default;

// From the end of the model to its beginning, as a backward pass goes.
void GradientBuckets::cut(const model::Parameters& parameters) {
  const auto& specs = parameters.specs();
  bucket_of_.resize(specs.size());
  int64_t begin = parameters.count();
  for (size_t i = specs.size(); i-- > 0;) {
    const at::Tensor& parameter = parameters[specs[i].name];
    const int64_t end = begin;
    begin -= parameter.numel();
    if (!parameter.requires_grad()) continue;
    if (buckets_.empty() || buckets_.back().begin != end ||
        buckets_.back().end - buckets_.back().begin >= kBucketSize) {
      buckets_.emplace_back();
      buckets_.back().end = end;
    }
    buckets_.back().begin = begin;
    ++buckets_.back().parameters;
    bucket_of_[i] = buckets_.size() - 1;
  }
}

void GradientBuckets::watch(model::Parameters& parameters, int thread) {
  for (size_t i = 0; i < bucket_of_.size(); ++i) {
    const at::Tensor& parameter = parameters[parameters.specs()[i].name];
    if (!parameter.requires_grad()) continue;
    const auto node = torch::autograd::impl::grad_accumulator(parameter);
    node->add_post_hook(std::make_unique<Hook>(*this, thread, bucket_of_[i]));
    nodes_.push_back(node);
  }
}

void GradientBuckets::start() {
  next_ = 0;
  for (Bucket& bucket : buckets_) {
    bucket.threads_left = static_cast<int>(threads_.size());
    bucket.complete = false;
  }
  for (Thread& thread : threads_) {
    thread.last_pass = false;
    thread.parameters_left.clear();
    for (const Bucket& bucket : buckets_) thread.parameters_left.push_back(bucket.parameters);
  }
}

void GradientBuckets::expect_last_pass(int thread) {
  threads_[static_cast<size_t>(thread)].last_pass = true;
}

void GradientBuckets::add_parameter(int thread, size_t bucket) {
  Thread& state = threads_[static_cast<size_t>(thread)];
  if (!state.last_pass) return;
  if (--state.parameters_left[bucket] == 0 && --buckets_[bucket].threads_left == 0) {
    complete(bucket);
  }
}

// Parameters that a pass did not use have had no hook called.
void GradientBuckets::finish_thread(int thread) {
  Thread& state = threads_[static_cast<size_t>(thread)];
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    if (state.parameters_left[bucket] > 0 && --buckets_[bucket].threads_left == 0) {
      complete(bucket);
    }
  }
}

void GradientBuckets::complete(size_t index) {
  Bucket& bucket = buckets_[index];
  const auto part = [&](size_t replica) {
    return replicas_[replica].parameters().gradients().data_ptr<float>() + bucket.begin;
  };
  for (size_t r = 1; r < replicas_.size(); ++r) {
    add_and_square_norm(bucket.end - bucket.begin, part(r), part(0));
  }
  // All workers must begin their sums in the same order.
  const std::lock_guard lock(mutex_);
  bucket.complete = true;
  for (; next_ < buckets_.size() && buckets_[next_].complete; ++next_) {
    const Bucket& next = buckets_[next_];
    group_.start_sum(
        replicas_[0].parameters().gradients().narrow(0, next.begin, next.end - next.begin));
  }
}

void GradientBuckets::finish() { group_.finish_sums(); }

}  // namespace filigree::train
