// The version of the toolkit, as printed by --version and written into models and signatures.
#pragma once

#include <string_view>

namespace filigree {

/// Such as "0.1.0"; set once, in the top CMakeLists.txt.
std::string_view version();

}  // namespace filigree
