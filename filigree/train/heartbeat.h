// Notices workers that are gone. A process that dies closes its connections, which its neighbours
// notice at once; a machine or a network that dies says nothing at all. So every worker counts up a
// number in the store every second, and worker 0 looks whether the others do.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "filigree/train/rendezvous.h"

namespace filigree::train {

class Heartbeat {
 public:
  explicit Heartbeat(const Rendezvous& rendezvous);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;

  /// Why this worker cannot go on, as soon as it is known: what another one has reported, or that
  /// one is silent.
  std::optional<std::string> verdict() const;

  /// After a connection broke: waits some seconds for the verdict, and looks more closely.
  std::string diagnose();

  /// Tells the others why this worker leaves, unless one has told a reason before. False when they
  /// cannot be told.
  bool report_failure(const std::string& reason) noexcept;

  /// Before this process ends with a failure: what the others look at may end with it, so they are
  /// given two seconds to see the reason.
  void let_others_look() const;

  /// From now on it is no failure that others leave.
  void expect_departures() { departing_ = true; }

 private:
  void beat();
  void watch();
  void look(double now);
  void decide(const std::string& reason);

  const WorkerPlace place_;
  StorePointer store_;          // for beat() alone
  StorePointer failure_store_;  // for report_failure()
  std::vector<int64_t> beats_;  // of every worker that this one watches, as last seen
  std::vector<double> changed_;
  std::atomic<double> last_answer_;
  std::atomic<bool> suspicious_ = false, departing_ = false;
  mutable std::mutex mutex_;
  std::condition_variable changes_;
  std::optional<std::string> verdict_;
  bool stopping_ = false;
  std::thread beating_, watching_;  // last, as they use the others
};

}  // namespace filigree::train
