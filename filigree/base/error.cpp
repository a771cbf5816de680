#include "filigree/base/error.h"

#include <cerrno>
#include <cstring>

namespace filigree {

Interrupted::Interrupted(int signal)
    : Error("stopped by signal {} ({})", signal, strsignal(signal)), signal_(signal) {}

std::string system_message() { return std::strerror(errno); }

}  // namespace filigree
