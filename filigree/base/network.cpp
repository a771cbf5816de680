#include "filigree/base/network.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "filigree/base/error.h"

namespace filigree {
namespace {

// Calls use(descriptor) with a socket that is connected to one of the host's addresses.
void connect_to(const std::string& host, uint16_t port, int type,
                const std::function<void(int)>& use) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = type;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return;
  for (const addrinfo* info = found; info; info = info->ai_next) {
    const int descriptor = socket(info->ai_family, type | SOCK_CLOEXEC, 0);
    if (descriptor < 0) continue;
    const bool connected = connect(descriptor, info->ai_addr, info->ai_addrlen) == 0;
    if (connected) use(descriptor);
    close(descriptor);
    if (connected) break;
  }
  freeaddrinfo(found);
}

}  // namespace

void require_host(const std::string& host) {
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.c_str(), nullptr, nullptr, &found);
  if (code != 0) throw Error("{}: unknown host: {}", host, gai_strerror(code));
  freeaddrinfo(found);
}

bool accepts_connections(const std::string& host, uint16_t port) {
  bool accepted = false;
  connect_to(host, port, SOCK_STREAM, [&](int) { accepted = true; });
  return accepted;
}

bool can_listen(uint16_t port) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  const int descriptor = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return true;  // Without IPv6 there is no telling; the library will.
  const int yes = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  const auto* any = reinterpret_cast<const sockaddr*>(&address);
  const bool bound = bind(descriptor, any, sizeof(address)) == 0 && listen(descriptor, 1) == 0;
  const bool taken = !bound && (errno == EADDRINUSE || errno == EACCES);
  close(descriptor);
  return !taken;
}

std::string local_end_of_route(const std::string& host, uint16_t port) {
  std::string result;
  connect_to(host, port, SOCK_DGRAM, [&](int descriptor) {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    auto* const local = reinterpret_cast<sockaddr*>(&address);
    char text[NI_MAXHOST] = "";
    if (getsockname(descriptor, local, &size) == 0 &&
        getnameinfo(local, size, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) == 0) {
      result = text;
    }
  });
  return result;
}

}  // namespace filigree
