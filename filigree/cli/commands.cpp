#include "filigree/cli/commands.h"

namespace filigree::cli {

void add_commands(Program& program) {}

}  // namespace filigree::cli
