#include "filigree/cli/output.h"

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "filigree/base/error.h"

namespace filigree::cli {
namespace {

[[noreturn]] void fail() {
  if (errno == EPIPE) throw OutputClosed();
  throw Error("standard output: cannot write: {}", system_message());
}

}  // namespace

void ignore_closed_pipes() { std::signal(SIGPIPE, SIG_IGN); }

void write_output(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail();
}

void flush_output() {
  if (std::fflush(stdout) != 0) fail();
}

}  // namespace filigree::cli
