#include "filigree/train/rendezvous.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <torch/torch.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "filigree/base/error.h"
#include "filigree/base/progress.h"

namespace filigree::train {
namespace {

constexpr std::chrono::minutes kPatience{5};
constexpr std::chrono::milliseconds kBetweenLooks{20};

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
  } catch (const std::exception&) {
    if (serve) {
      throw Error("worker 0 cannot listen on port {} (MASTER_PORT): is it in use?", place.port);
    }
    throw Error(
        "cannot connect to worker 0 at {}:{} (MASTER_ADDR, MASTER_PORT): does it run, and is the "
        "port open?",
        place.address, place.port);
  }
}

// The local end of the route to a host; nothing is sent. Empty when there is none.
std::string local_end_of_route(const std::string& host, uint16_t port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return "";
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, freeaddrinfo);
  for (const addrinfo* info = found; info; info = info->ai_next) {
    const int descriptor = socket(info->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) continue;
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    char text[NI_MAXHOST] = "";
    const bool good = connect(descriptor, info->ai_addr, info->ai_addrlen) == 0 &&
                      getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
                      getnameinfo(reinterpret_cast<sockaddr*>(&address), size, text, sizeof(text),
                                  nullptr, 0, NI_NUMERICHOST) == 0;
    close(descriptor);
    if (good) return text;
  }
  return "";
}

bool is_loopback(const std::string& address) {
  return address.empty() || address.starts_with("127.") || address == "::1";
}

std::string address_key(int rank) { return fmt::format("address/{}", rank); }

}  // namespace

Rendezvous::Rendezvous(const WorkerPlace& place) : place_(place) {
  const bool serve = place_.rank == 0 && !place_.agent_serves;
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
  const double deadline = now_seconds() + std::chrono::duration<double>(kPatience).count();
  for (int64_t joined = 0; (joined = store_->add("joined", 0)) < place_.size;) {
    while_waiting();
    if (now_seconds() > deadline) {
      throw Error("only {} of {} workers have come to {}:{} within {} minutes", joined, place_.size,
                  place_.address, place_.port, kPatience.count());
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
