#include "filigree/train/heartbeat.h"

#include <torch/torch.h>

#include <chrono>

#include "filigree/base/error.h"
#include "filigree/base/progress.h"

namespace filigree::train {
namespace {

constexpr std::chrono::seconds kInterval{1};
// How long a worker may be silent: long enough for a machine that is very busy, and well below the
// minute within which a training should end. After a connection broke, seconds are enough.
constexpr double kSilence = 30, kSilenceWhenSuspicious = 4;
// When this process itself did not run for as long, it was suspended, and perhaps the others too.
constexpr double kSuspended = 10;
constexpr const char* kFailures = "failures";
constexpr const char* kFailure = "failure";

std::string beat_key(int rank) { return fmt::format("beat/{}", rank); }

std::string name_of(int rank, const WorkerPlace& place) {
  return fmt::format("worker {} (of 0 to {})", rank, place.size - 1);
}

}  // namespace

Heartbeat::Heartbeat(const Rendezvous& rendezvous)
    : place_(rendezvous.place()),
      store_(rendezvous.connect()),
      failure_store_(rendezvous.connect()),
      beats_(static_cast<size_t>(place_.rank == 0 ? place_.size : 1), -1),
      changed_(beats_.size(), now_seconds()),
      last_answer_(now_seconds()),
      beating_([this] { beat(); }),
      watching_([this] { watch(); }) {}

Heartbeat::~Heartbeat() {
  departing_ = true;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changes_.notify_all();
  beating_.join();
  watching_.join();
}

std::optional<std::string> Heartbeat::verdict() const {
  const std::lock_guard lock(mutex_);
  return verdict_;
}

std::string Heartbeat::diagnose() {
  suspicious_ = true;
  std::unique_lock lock(mutex_);
  changes_.wait_for(lock, std::chrono::duration<double>(3 * kSilenceWhenSuspicious),
                    [&] { return verdict_.has_value(); });
  return verdict_.value_or("the connection to another worker broke");
}

bool Heartbeat::report_failure(const std::string& reason) noexcept {
  try {
    if (failure_store_->add(kFailures, 1) > 1) return true;
    const std::string text = fmt::format("{}: {}", name_of(place_.rank, place_), reason);
    failure_store_->set(kFailure, std::vector<uint8_t>(text.begin(), text.end()));
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void Heartbeat::let_others_look() const {
  if (place_.rank == 0 && !place_.agent_serves) std::this_thread::sleep_for(2 * kInterval);
}

void Heartbeat::decide(const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (!verdict_ && !departing_) verdict_ = reason;
  }
  changes_.notify_all();
}

// Runs in beating_. Every call to the store may wait forever for an answer from a machine that is
// gone, which is what watch() is for.
void Heartbeat::beat() {
  double previous = now_seconds();
  while (true) {
    try {
      store_->add(beat_key(place_.rank), 1);
      const double now = now_seconds();
      if (now - previous > kSuspended) changed_.assign(changed_.size(), now);
      previous = now;
      look(now);
      last_answer_ = now_seconds();
    } catch (const std::exception&) {
      return decide(name_of(0, place_) + " is gone");
    }
    std::unique_lock lock(mutex_);
    if (changes_.wait_for(lock, kInterval, [&] { return stopping_; })) return;
  }
}

void Heartbeat::look(double now) {
  if (store_->check({kFailure})) {
    const std::vector<uint8_t> text = store_->get(kFailure);
    return decide(std::string(text.begin(), text.end()));
  }
  for (size_t i = 0; i < beats_.size(); ++i) {
    const int rank = static_cast<int>(i);
    if (rank == place_.rank) continue;
    const int64_t beats = store_->add(beat_key(rank), 0);
    if (beats != beats_[i]) {
      beats_[i] = beats;
      changed_[i] = now;
    }
    const double limit = suspicious_ ? kSilenceWhenSuspicious : kSilence;
    if (now - changed_[i] < limit || departing_) continue;
    const std::string reason = name_of(rank, place_) + " is gone";
    if (place_.rank == 0 && store_->add(kFailures, 1) == 1) {
      store_->set(kFailure, std::vector<uint8_t>(reason.begin(), reason.end()));
    }
    return decide(reason);
  }
}

// Runs in watching_.
void Heartbeat::watch() {
  double previous = now_seconds();
  std::unique_lock lock(mutex_);
  while (!changes_.wait_for(lock, kInterval, [&] { return stopping_; })) {
    const double now = now_seconds();
    if (now - previous > kSuspended) last_answer_ = now;
    previous = now;
    if (now - last_answer_ < kSilence) continue;
    lock.unlock();
    decide(name_of(0, place_) + " does not answer");
    lock.lock();
  }
}

}  // namespace filigree::train
