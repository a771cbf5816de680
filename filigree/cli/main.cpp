#include "filigree/base/memory.h"
#include "filigree/cli/commands.h"
#include "filigree/cli/program.h"

int main(int argc, char** argv) {
  filigree::keep_freed_memory();
  return filigree::cli::run_program(argc, argv, filigree::cli::add_commands);
}
