// The sub-commands, one file each. A set-up function declares the command's options and what runs.
#pragma once

#include "filigree/cli/program.h"

namespace filigree::cli {

/// All of them, in the order of --help.
void add_commands(Program& program);

void add_demo(Program& program);
void add_train(Program& program);
void add_translate(Program& program);
void add_score(Program& program);
void add_align(Program& program);
void add_evaluate(Program& program);
void add_inspect(Program& program);
void add_prune(Program& program);
void add_average(Program& program);
void add_info(Program& program);

}  // namespace filigree::cli
