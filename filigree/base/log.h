// Logging to standard error. Data goes to standard output and never through here.
#pragma once

#include <spdlog/spdlog.h>

#include <string>

namespace filigree {

/// Sends spdlog's default logger to standard error: "[12:34:56] message", with the level in front
/// of the message from warnings up. level: trace, debug, info, warn, error or off.
/// Throws UsageError on any other level.
void set_up_logging(const std::string& level = "info");

}  // namespace filigree
