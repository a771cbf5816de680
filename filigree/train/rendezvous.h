// How workers meet: a key-value store that worker 0 serves (or an agent does), and the address
// under which the others reach this one.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <cstdint>
#include <functional>
#include <string>

#include "filigree/train/worker_place.h"

namespace filigree::train {

using StorePointer = c10::intrusive_ptr<c10d::Store>;

class Rendezvous {
 public:
  /// Serves the store or connects to it, within five minutes. Throws Error when that fails.
  explicit Rendezvous(const WorkerPlace& place);

  const WorkerPlace& place() const { return place_; }  ///< with the port that was taken
  const StorePointer& store() const { return store_; }
  /// A connection of its own to the store, for another thread: calls on one wait for each other.
  StorePointer connect() const;

  /// Waits until all workers are there, calling `while_waiting` again and again. Throws Error when
  /// some do not come within five minutes.
  void wait_for_all(const std::function<void()>& while_waiting) const;

  /// The address of this machine to which other workers can connect: that of the network which
  /// leads to them, since a machine's own name often stands for the loopback address.
  std::string own_address() const;

 private:
  WorkerPlace place_;
  StorePointer served_, store_;
};

}  // namespace filigree::train
