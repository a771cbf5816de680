// Running the real program: arguments and standard input in; exit code, output and errors out.
#pragma once

#include <sys/types.h>

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace filigree::test {

struct Outcome {
  int exit_code;  ///< 128 + signal when a signal ended the program, as a shell says it.
  std::string out, err;
};
/// For GoogleTest's messages.
void PrintTo(const Outcome& outcome, std::ostream* out);

/// A started program. Its standard output and error go to files, so that neither side ever waits
/// for the other to read.
class Process {
 public:
  /// Starts a program, looked up in PATH unless its name has a slash.
  explicit Process(const std::vector<std::string>& program_and_arguments,
                   const std::string& input = "");
  /// Runs `body` in a child of this process; what it returns is the exit code.
  Process(const std::function<int()>& body, const std::string& input);
  ~Process();
  Process(const Process&) = delete;

  void send(int signal) const;
  pid_t id() const { return pid_; }
  /// What it has written to standard error so far.
  std::string err() const;
  /// Waits until standard error holds `text`; false when the program ends or two minutes pass
  /// first.
  bool wait_for(const std::string& text);
  bool running();
  Outcome wait();

 private:
  TemporaryFolder folder_;
  pid_t pid_ = -1;
  int status_ = 0;
};

/// The words that start the program that was built, for Process.
std::vector<std::string> filigree(std::vector<std::string> arguments);

/// The program from after its start, in a child of this process: the same code in a process of its
/// own, without the half second that loading LibTorch takes every time.
std::unique_ptr<Process> start_filigree(const std::vector<std::string>& arguments,
                                        const std::string& input = "");
/// The same to its end.
Outcome run_filigree(const std::vector<std::string>& arguments, const std::string& input = "");

/// Runs any program, such as "sh", to its end.
Outcome run(const std::vector<std::string>& program_and_arguments, const std::string& input = "");

}  // namespace filigree::test
