#include "filigree/base/network.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "filigree/base/error.h"

namespace filigree {
namespace {

TEST(Network, AHostThatIsNoneIsNamed) {
  EXPECT_NO_THROW(require_host("127.0.0.1"));
  try {
    require_host("no-such-host.invalid");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("no-such-host.invalid: unknown host"), 0);
  }
}

TEST(Network, APortIsFreeUntilSomebodyListens) {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  ASSERT_TRUE(bind(descriptor, any, size) == 0 && getsockname(descriptor, any, &size) == 0);
  const uint16_t port = ntohs(address.sin_port);
  EXPECT_FALSE(accepts_connections("127.0.0.1", port));
  ASSERT_EQ(listen(descriptor, 1), 0);
  EXPECT_TRUE(accepts_connections("127.0.0.1", port));
  EXPECT_FALSE(can_listen(port));
  close(descriptor);
  EXPECT_FALSE(accepts_connections("127.0.0.1", port));
  EXPECT_TRUE(can_listen(port));
}

TEST(Network, TheWayToThisMachineEndsAtTheLoopbackAddress) {
  EXPECT_EQ(local_end_of_route("127.0.0.1", 80), "127.0.0.1");
  EXPECT_EQ(local_end_of_route("no-such-host.invalid", 80), "");
}

}  // namespace
}  // namespace filigree
