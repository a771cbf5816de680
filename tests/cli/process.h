// Running the real program: arguments and standard input in; exit code, output and errors out.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace filigree::test {

struct Outcome {
  int exit_code;  ///< 128 + signal when a signal ended the program, as a shell says it.
  std::string out, err;
};

/// A started program. Its standard output and error go to files, so that neither side ever waits
/// for the other to read.
class Process {
 public:
  /// `program` is looked up in PATH unless it has a slash. `environment` entries are "NAME=value".
  Process(const std::vector<std::string>& program_and_arguments, const std::string& input = "",
          const std::vector<std::string>& environment = {});
  ~Process();
  Process(const Process&) = delete;

  void send(int signal) const;
  /// What it has written to standard error so far.
  std::string err() const;
  /// Waits until standard error holds `text`; false when the program ends or a minute passes first.
  bool wait_for(const std::string& text);
  bool running();
  Outcome wait();

 private:
  TemporaryFolder folder_;
  pid_t pid_ = -1;
  int status_ = 0;
};

/// Runs build/…/filigree with these arguments.
std::vector<std::string> filigree(std::vector<std::string> arguments);
Outcome run_filigree(const std::vector<std::string>& arguments, const std::string& input = "");
/// Runs any program, such as "sh".
Outcome run(const std::vector<std::string>& program_and_arguments, const std::string& input = "");

}  // namespace filigree::test
