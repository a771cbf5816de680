#include "filigree/train/worker_group.h"

#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <future>
#include <thread>

// Debian's LibTorch does not say that it has Gloo, and its header is empty without this.
#ifndef USE_C10D_GLOO
#define USE_C10D_GLOO
#endif
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "filigree/base/progress.h"
#include "filigree/train/heartbeat.h"
#include "filigree/train/rendezvous.h"

namespace filigree::train {
namespace {

using WorkPointer = c10::intrusive_ptr<c10d::Work>;
using Gloo = c10d::ProcessGroupGloo;

// No limit on how long the others may work by themselves, tokenising for example: whether they
// still do is for the heartbeat to tell.
constexpr std::chrono::hours kNoLimit{24 * 365};
// How often a worker that waits looks at the heartbeat.
constexpr std::chrono::milliseconds kBetweenLooks{500};
constexpr double kSecondsToConnect = 120;
// Two sums at a time, so that one is on the wire while the other is added up.
constexpr int kThreads = 2;

// Collectives work on memory of their own: one that fails may still write to it later.
at::Tensor copy_of(const void* data, size_t size) {
  const at::Tensor bytes = torch::empty({static_cast<int64_t>(size)}, at::kByte);
  std::memcpy(bytes.data_ptr(), data, size);
  return bytes;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

c10::intrusive_ptr<Gloo> open_gloo(const Rendezvous& rendezvous) {
  const auto options = Gloo::Options::create(kNoLimit);
  options->threads = kThreads;
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  options->devices.push_back(
      interface && *interface ? Gloo::createDeviceForInterface(interface)
                              : Gloo::createDeviceForHostname(rendezvous.own_address()));
  return c10::make_intrusive<Gloo>(rendezvous.store(), rendezvous.place().rank,
                                   rendezvous.place().size, options);
}

// Connects to every other worker. A network that swallows what is sent would keep this waiting for
// as long as a collective may take, so it runs in a thread that can be left behind.
c10::intrusive_ptr<Gloo> connect(const Rendezvous& rendezvous, const Heartbeat& heartbeat) {
  std::promise<c10::intrusive_ptr<Gloo>> promise;
  auto connected = promise.get_future();
  std::thread([rendezvous, promise = std::move(promise)]() mutable {
    try {
      promise.set_value(open_gloo(rendezvous));
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  }).detach();
  const double deadline = now_seconds() + kSecondsToConnect;
  try {
    while (connected.wait_for(kBetweenLooks) != std::future_status::ready) {
      if (const auto verdict = heartbeat.verdict()) throw WorkerLost("{}", *verdict);
      if (now_seconds() > deadline) throw std::runtime_error("no answer");
    }
    return connected.get();
  } catch (const WorkerLost&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(
        "worker {} cannot connect to all others ({}); are the machines' ports open to each other, "
        "and is {} the right network (GLOO_SOCKET_IFNAME)?",
        rendezvous.place().rank, first_line(error.what()), rendezvous.own_address());
  }
}

}  // namespace

struct WorkerGroup::Connection {
  explicit Connection(const Rendezvous& rendezvous)
      : store(rendezvous.store()), heartbeat(rendezvous), gloo(connect(rendezvous, heartbeat)) {}

  // Waits for a collective in steps, since it may wait for a machine that is gone.
  void wait(const WorkPointer& work) {
    while (true) {
      try {
        work->wait(kBetweenLooks);
        return;
      } catch (const std::exception&) {
        if (work->isCompleted() && !work->isSuccess()) fail(heartbeat.diagnose());
      }
      if (const auto reason = heartbeat.verdict()) fail(*reason);
    }
  }

  [[noreturn]] void fail(const std::string& reason) {
    broken = true;
    throw WorkerLost("{}; the same command goes on from the last checkpoint", reason);
  }

  StorePointer store;
  Heartbeat heartbeat;
  c10::intrusive_ptr<Gloo> gloo;
  std::vector<WorkPointer> sums;
  bool broken = false;
};

WorkerGroup::WorkerGroup() = default;

WorkerGroup::WorkerGroup(const Rendezvous& rendezvous, const std::function<void()>& while_waiting)
    : rank_(rendezvous.place().rank),
      size_(rendezvous.place().size),
      local_size_(rendezvous.place().local_size) {
  rendezvous.wait_for_all(while_waiting);
  connection_ = std::make_unique<Connection>(rendezvous);
}

WorkerGroup::~WorkerGroup() {
  if (!connection_ || !connection_->broken) return;
  connection_->heartbeat.let_others_look();
  // Threads that wait for a worker that is gone cannot be ended, so they keep what they use.
  static_cast<void>(connection_.release());
}

void WorkerGroup::gather_bytes(const void* mine, size_t size, void* all) {
  std::vector<at::Tensor> input = {copy_of(mine, size)};
  std::vector<std::vector<at::Tensor>> outputs(1);
  for (int rank = 0; rank < size_; ++rank) outputs[0].push_back(torch::empty_like(input[0]));
  connection_->wait(connection_->gloo->allgather(outputs, input));
  for (size_t rank = 0; rank < outputs[0].size(); ++rank) {
    std::memcpy(static_cast<char*>(all) + rank * size, outputs[0][rank].data_ptr(), size);
  }
}

std::vector<std::string> WorkerGroup::gather_text(const std::string& mine) {
  if (size_ == 1) return {mine};
  const std::vector<size_t> sizes = gather(mine.size());
  const size_t longest = std::max<size_t>(1, *std::max_element(sizes.begin(), sizes.end()));
  std::string padded = mine;
  padded.resize(longest);
  std::string all(longest * sizes.size(), '\0');
  gather_bytes(padded.data(), longest, all.data());
  std::vector<std::string> texts;
  for (size_t rank = 0; rank < sizes.size(); ++rank) {
    texts.push_back(all.substr(rank * longest, sizes[rank]));
  }
  return texts;
}

void WorkerGroup::sum(std::span<int64_t> numbers) {
  if (size_ == 1) return;
  std::vector<at::Tensor> tensors = {copy_of(numbers.data(), numbers.size_bytes()).view(at::kLong)};
  connection_->wait(connection_->gloo->allreduce(tensors));
  std::memcpy(numbers.data(), tensors[0].data_ptr(), numbers.size_bytes());
}

void WorkerGroup::broadcast_bytes(void* data, size_t size) {
  const at::Tensor bytes = copy_of(data, size);
  broadcast(bytes);
  std::memcpy(data, bytes.data_ptr(), size);
}

void WorkerGroup::broadcast_text(std::string& text) {
  if (size_ == 1) return;
  size_t size = text.size();
  broadcast(size);
  text.resize(size);
  if (size > 0) broadcast_bytes(text.data(), size);
}

void WorkerGroup::broadcast(const at::Tensor& tensor) {
  if (size_ == 1) return;
  std::vector<at::Tensor> tensors = {tensor.cpu()};
  connection_->wait(connection_->gloo->broadcast(tensors));
  if (!tensor.is_cpu()) tensor.copy_(tensors[0]);
}

void WorkerGroup::start_sum(const at::Tensor& tensor) {
  if (size_ == 1) return;
  std::vector<at::Tensor> tensors = {tensor};
  connection_->sums.push_back(connection_->gloo->allreduce(tensors));
}

void WorkerGroup::finish_sums() {
  if (size_ == 1) return;
  for (const WorkPointer& sum : connection_->sums) connection_->wait(sum);
  connection_->sums.clear();
}

bool WorkerGroup::report_failure(const std::string& reason) noexcept {
  if (!connection_) return false;
  connection_->broken = true;
  return connection_->heartbeat.report_failure(reason);
}

void WorkerGroup::leave() {
  if (!connection_) return;
  barrier();
  connection_->heartbeat.expect_departures();
  // Nobody goes before all expect it.
  barrier();
}

}  // namespace filigree::train
