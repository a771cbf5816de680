// What the workers of one training say to each other: sums, and values that all must know. The
// transport is LibTorch's c10d over Gloo. A group of one worker needs none and costs nothing.
//
// All workers call these functions in the same order. A worker that cannot go on, or is gone, makes
// each of them throw WorkerLost in all others, within a minute.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "filigree/base/error.h"

namespace filigree::train {

class Rendezvous;

/// Another worker is gone; the message says which, and why if that is known.
class WorkerLost : public Error {
 public:
  using Error::Error;
};

class WorkerGroup {
 public:
  /// A worker on its own.
  WorkerGroup();
  /// Joins the others; see Rendezvous::wait_for_all(). Throws Error when that fails.
  WorkerGroup(const Rendezvous& rendezvous, const std::function<void()>& while_waiting);
  ~WorkerGroup();
  WorkerGroup(const WorkerGroup&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Workers on this machine, which share its cores.
  int local_size() const { return local_size_; }
  /// Of worker 0, which alone writes files and logs.
  bool is_first() const { return rank_ == 0; }

  /// Every worker's value, by rank.
  template <typename T>
  std::vector<T> gather(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(static_cast<size_t>(size_), mine);
    if (size_ > 1) gather_bytes(&mine, sizeof(T), all.data());
    return all;
  }
  /// Every worker's text, by rank.
  std::vector<std::string> gather_text(const std::string& mine);

  /// Replaces each number by its sum over the workers.
  void sum(std::span<int64_t> numbers);

  /// Gives all workers the first one's value.
  template <typename T>
  void broadcast(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (size_ > 1) broadcast_bytes(&value, sizeof(T));
  }
  void broadcast_text(std::string& text);
  void broadcast(const at::Tensor& tensor);  ///< contiguous, of the same size everywhere, on any
                                             ///< device

  /// Waits until all workers have come here.
  void barrier() { gather(char{}); }

  /// Begins to replace a contiguous tensor by its sum over the workers, in the background; it must
  /// not be touched before finish_sums(). The results are the same to the bit on all workers. May
  /// be called from any thread, one at a time.
  void start_sum(const at::Tensor& tensor);
  void finish_sums();

  /// Tells the others why this one leaves. False when they cannot be told.
  bool report_failure(const std::string& reason) noexcept;
  /// Ends a training that went well: waits for all workers to come here.
  void leave();

 private:
  struct Connection;
  void gather_bytes(const void* mine, size_t size, void* all);
  void broadcast_bytes(void* data, size_t size);

  int rank_ = 0, size_ = 1, local_size_ = 1;
  std::unique_ptr<Connection> connection_;
};

}  // namespace filigree::train
