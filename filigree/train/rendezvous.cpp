#include "filigree/train/rendezvous.h"

#include <torch/torch.h>

#include <chrono>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "filigree/base/error.h"
#include "filigree/base/log.h"
#include "filigree/base/network.h"
#include "filigree/base/progress.h"

namespace filigree::train {
namespace {

// For all workers to be started.
constexpr std::chrono::seconds kPatience{300};
// After as long, what is waited for is worth a line.
constexpr std::chrono::seconds kQuiet{10};
constexpr std::chrono::milliseconds kBetweenLooks{20};

// Until worker 0 listens, quietly.
void wait_for_first(const WorkerPlace& place) {
  require_host(place.address);
  const double started = now_seconds();
  bool told = false;
  while (!accepts_connections(place.address, place.port)) {
    const double waited = now_seconds() - started;
    if (waited > kPatience.count()) {
      throw Error(
          "nobody listens at {}:{} (MASTER_ADDR, MASTER_PORT): does worker 0 run, and is the port "
          "open?",
          place.address, place.port);
    }
    if (waited > kQuiet.count() && !std::exchange(told, true)) {
      spdlog::info("waiting for worker 0 at {}:{}", place.address, place.port);
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

StorePointer open_store(const WorkerPlace& place, bool serve, uint16_t& port) {
  c10d::TCPStoreOptions options;
  options.port = place.port;
  options.isServer = serve;
  options.waitWorkers = false;
  options.timeout = kPatience;
  try {
    const auto store = c10::make_intrusive<c10d::TCPStore>(place.address, options);
    port = store->getPort();
    // A restarted training must not see what an earlier attempt left in an agent's store.
    return c10::make_intrusive<c10d::PrefixStore>(fmt::format("filigree/{}", place.attempt), store);
  } catch (const std::exception& error) {
    const std::string text = error.what();
    throw Error("{}:{} (MASTER_ADDR, MASTER_PORT): {}", place.address, place.port,
                text.substr(0, text.find('\n')));
  }
}

bool is_loopback(const std::string& address) {
  return address.empty() || address.starts_with("127.") || address == "::1";
}

std::string address_key(int rank) { return fmt::format("address/{}", rank); }

}  // namespace

Rendezvous::Rendezvous(const WorkerPlace& place) : place_(place) {
  const bool serve = place_.rank == 0 && !place_.agent_serves;
  if (!serve) wait_for_first(place_);
  if (serve && place_.port != 0 && !can_listen(place_.port)) {
    throw Error("worker 0 cannot listen on port {} (MASTER_PORT): it is in use or reserved",
                place_.port);
  }
  store_ = open_store(place_, serve, place_.port);
  if (place_.rank > 0) {
    const std::string address = local_end_of_route(place_.address, place_.port);
    store_->set(address_key(place_.rank), std::vector<uint8_t>(address.begin(), address.end()));
  }
}

StorePointer Rendezvous::connect() const {
  uint16_t same = 0;
  return open_store(place_, false, same);
}

void Rendezvous::wait_for_all(const std::function<void()>& while_waiting) const {
  store_->add("joined", 1);
  const double started = now_seconds();
  bool told = false;
  for (int64_t joined = 0; (joined = store_->add("joined", 0)) < place_.size;) {
    while_waiting();
    const double waited = now_seconds() - started;
    if (waited > kPatience.count()) {
      throw Error("only {} of {} workers have come to {}:{} within {} minutes", joined, place_.size,
                  place_.address, place_.port, kPatience.count() / 60);
    }
    if (waited > kQuiet.count() && place_.rank == 0 && !std::exchange(told, true)) {
      spdlog::info("{} of {} workers are at {}:{}; waiting for the others", joined, place_.size,
                   place_.address, place_.port);
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

std::string Rendezvous::own_address() const {
  const std::string towards_first = local_end_of_route(place_.address, place_.port);
  if (place_.rank > 0 || !is_loopback(towards_first)) return towards_first;
  for (int rank = 1; rank < place_.size; ++rank) {
    const std::vector<uint8_t> bytes = store_->get(address_key(rank));
    const std::string other(bytes.begin(), bytes.end());
    if (!is_loopback(other)) return local_end_of_route(other, place_.port);
  }
  return towards_first;
}

}  // namespace filigree::train
