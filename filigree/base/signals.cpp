#include "filigree/base/signals.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace filigree {
namespace {

std::atomic<int> received_signal{0};
struct sigaction previous_interrupt, previous_terminate;

void on_signal(int signal) {
  if (received_signal.exchange(signal) != 0) _exit(128 + signal);
}

}  // namespace

SignalGuard::SignalGuard() {
  received_signal = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &previous_interrupt);
  sigaction(SIGTERM, &action, &previous_terminate);
}

SignalGuard::~SignalGuard() {
  sigaction(SIGINT, &previous_interrupt, nullptr);
  sigaction(SIGTERM, &previous_terminate, nullptr);
}

int SignalGuard::received() { return received_signal; }

}  // namespace filigree
