#include "filigree/cli/commands.h"

namespace filigree::cli {

void add_commands(Program& program) {
  add_demo(program);
  add_train(program);
  add_translate(program);
  add_score(program);
  add_align(program);
  add_evaluate(program);
  add_inspect(program);
  add_prune(program);
  add_average(program);
  add_info(program);
}

}  // namespace filigree::cli
