#include "filigree/base/version.h"

namespace filigree {

std::string_view version() { return FILIGREE_VERSION; }

}  // namespace filigree
