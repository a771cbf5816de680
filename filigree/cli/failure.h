// What the program says and returns when a command fails.
#pragma once

#include <exception>

namespace filigree::cli {

/// Prints one line, "error: …", on standard error and returns the exit code.
int report_failure(std::exception_ptr failure);

}  // namespace filigree::cli
