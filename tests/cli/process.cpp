#include "tests/cli/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ostream>
#include <stdexcept>
#include <thread>

#include "filigree/base/memory.h"
#include "filigree/cli/commands.h"
#include "filigree/cli/program.h"

namespace filigree::test {
namespace {

/// In the child: makes `path` its descriptor `target`.
void redirect(const std::string& path, int flags, int target) {
  const int descriptor = open(path.c_str(), flags, 0600);
  if (descriptor < 0 || dup2(descriptor, target) < 0) _exit(127);
  close(descriptor);
}

}  // namespace

void PrintTo(const Outcome& outcome, std::ostream* out) {
  *out << "exit code " << outcome.exit_code << ", output \"" << outcome.out << "\", errors \""
       << outcome.err << "\"";
}

Process::Process(const std::function<int()>& body, const std::string& input) {
  const std::string in = folder_.write("in", input), out = folder_ / "out", err = folder_ / "err";
  std::fflush(nullptr);  // What this process has still to write is not the child's to write.
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (pid_ > 0) return;
  redirect(in, O_RDONLY, STDIN_FILENO);
  redirect(out, O_WRONLY | O_CREAT, STDOUT_FILENO);
  redirect(err, O_WRONLY | O_CREAT, STDERR_FILENO);
  signal(SIGPIPE, SIG_DFL);  // The frame's tests ignore it in this process.
  const int code = body();
  std::fflush(nullptr);
  _exit(code);
}

Process::Process(const std::vector<std::string>& program_and_arguments, const std::string& input)
    : Process(
          [&program_and_arguments] {
            std::vector<char*> words;
            for (const std::string& word : program_and_arguments) {
              words.push_back(const_cast<char*>(word.c_str()));
            }
            words.push_back(nullptr);
            execvp(words[0], words.data());
            return 127;
          },
          input) {}

Process::~Process() {
  if (!running()) return;
  send(SIGKILL);
  wait();
}

void Process::send(int signal) const {
  if (pid_ > 0) kill(pid_, signal);
}

std::string Process::err() const { return content_of(folder_ / "err"); }

bool Process::running() {
  if (pid_ > 0 && waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = -1;
  return pid_ > 0;
}

bool Process::wait_for(const std::string& text) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (std::chrono::steady_clock::now() < deadline) {
    const bool more = running();
    if (err().find(text) != std::string::npos) return true;
    if (!more) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

Outcome Process::wait() {
  if (pid_ > 0) waitpid(pid_, &status_, 0);
  pid_ = -1;
  const int code = WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
  return {code, content_of(folder_ / "out"), err()};
}

std::vector<std::string> filigree(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), FILIGREE_PROGRAM);
  return arguments;
}

std::unique_ptr<Process> start_filigree(const std::vector<std::string>& arguments,
                                        const std::string& input) {
  std::vector<std::string> words = filigree(arguments);
  const auto body = [&words] {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    keep_freed_memory();
    return cli::run_program(static_cast<int>(pointers.size()), pointers.data(), cli::add_commands);
  };
  return std::make_unique<Process>(body, input);
}

Outcome run_filigree(const std::vector<std::string>& arguments, const std::string& input) {
  return start_filigree(arguments, input)->wait();
}

Outcome run(const std::vector<std::string>& program_and_arguments, const std::string& input) {
  return Process(program_and_arguments, input).wait();
}

}  // namespace filigree::test
