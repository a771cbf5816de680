// Small questions about the network, asked before a library with long error messages uses it.
#pragma once

#include <cstdint>
#include <string>

namespace filigree {

/// Throws Error with the reason when a host's name or address means nothing here.
void require_host(const std::string& host);

/// Whether somebody accepts TCP connections there now.
bool accepts_connections(const std::string& host, uint16_t port);

/// Whether this process could listen on the port, on every network of the machine.
bool can_listen(uint16_t port);

/// The address of this machine's end of the way to a host; nothing is sent. Empty without a way.
std::string local_end_of_route(const std::string& host, uint16_t port);

}  // namespace filigree
