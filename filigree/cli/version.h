// What --version prints.
#pragma once

#include <string>

namespace filigree::cli {

/// The versions of the program and of LibTorch, and the vector instructions that the kernels use on
/// this machine; one a line.
std::string version_text();

}  // namespace filigree::cli
