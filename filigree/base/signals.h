// SIGINT and SIGTERM as a request that long work asks for at its own pace.
#pragma once

namespace filigree {

/// While it lives, the first SIGINT or SIGTERM is only noted; a second one ends the process at once
/// with exit code 128 + signal. One at a time.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;

  /// The signal that arrived, or 0.
  static int received();
};

}  // namespace filigree
