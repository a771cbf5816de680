#include "filigree/cli/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "filigree/base/error.h"
#include "filigree/base/log.h"
#include "filigree/cli/failure.h"
#include "filigree/cli/output.h"
#include "filigree/cli/suggest.h"
#include "filigree/cli/version.h"

namespace filigree::cli {

Program::Program()
    : app_("Trains and runs translation models whose attention is adaptively sparse.", "filigree") {
  app_.set_help_flag("-h,--help", "Print this help and exit")->group("General");
  app_.add_flag("--version", version_, "Print the version and exit")->group("General");
  // Not CLI11's own checks, so that unknown words get a line with a suggestion.
  app_.allow_extras();
  app_.require_subcommand(0, 1);
}

Command& Program::add_command(const std::string& name, const std::string& description) {
  commands_.push_back(std::make_unique<Command>(app_, name, description));
  return *commands_.back();
}

Command& Program::chosen() {
  for (const auto& command : commands_) {
    if (command->parsed()) return *command;
  }
  const std::vector<std::string> words = app_.remaining();
  if (words.empty()) throw UsageError("no command given (see filigree --help)");
  const bool is_option = words[0].starts_with("-");
  std::vector<std::string> known = {"--help", "--version"};
  if (!is_option) {
    known.clear();
    for (const auto& command : commands_) known.push_back(command->name());
  }
  throw UsageError("unknown {} {}{} (see filigree --help)", is_option ? "option" : "command",
                   words[0], suggestion(words[0], known));
}

void Program::run(int argc, char** argv) {
  try {
    app_.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto command =
        std::find_if(commands_.begin(), commands_.end(), [](const auto& c) { return c->parsed(); });
    write_output(command == commands_.end() ? help_text(app_, "filigree") : (*command)->help());
    return;
  } catch (const CLI::ParseError& error) {
    const auto command =
        std::find_if(commands_.begin(), commands_.end(), [](const auto& c) { return c->parsed(); });
    throw UsageError("{} (see filigree {}--help)", error.what(),
                     command == commands_.end() ? "" : (*command)->name() + " ");
  }
  if (version_) return write_output(version_text());
  chosen().run();
}

int run_program(int argc, char** argv, void (*add_commands)(Program&)) {
  ignore_closed_pipes();
  try {
    set_up_logging();
    Program program;
    add_commands(program);
    program.run(argc, argv);
    flush_output();
    return 0;
  } catch (...) {
    return report_failure(std::current_exception());
  }
}

}  // namespace filigree::cli
