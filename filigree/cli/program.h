// The program around its commands: parsing, help, version, errors and exit codes.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "filigree/cli/command.h"

namespace filigree::cli {

class Program {
 public:
  Program();

  /// A new command; it lives as long as the program.
  Command& add_command(const std::string& name, const std::string& description);

  const std::vector<std::unique_ptr<Command>>& commands() const { return commands_; }

  /// Parses the arguments and runs the chosen command. Throws UsageError, or what the command
  /// throws.
  void run(int argc, char** argv);

 private:
  Command& chosen();

  CLI::App app_;
  std::vector<std::unique_ptr<Command>> commands_;
  bool version_ = false;
};

/// Runs the program with the commands that `add_commands` adds and returns the exit code: 0 done,
/// 1 failure, 2 usage, 128 + signal. A failure is one line on standard error.
int run_program(int argc, char** argv, void (*add_commands)(Program&));

}  // namespace filigree::cli
