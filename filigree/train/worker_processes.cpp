#include "filigree/train/worker_processes.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <thread>

#include "filigree/base/error.h"
#include "filigree/base/files.h"
#include "filigree/base/progress.h"
#include "filigree/train/worker_place.h"

namespace filigree::train {
namespace {

constexpr double kSecondsToEnd = 3, kSecondsToObey = 7;
constexpr std::chrono::milliseconds kBetweenLooks{20};

std::vector<std::string> own_arguments() {
  const std::string text = read_file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\0', begin);
    words.push_back(text.substr(begin, end - begin));
    begin = end == std::string::npos ? text.size() : end + 1;
  }
  return words;
}

std::vector<std::string> environment_of(int rank, int size, uint16_t port) {
  const std::vector<std::string> own = {
      fmt::format("RANK={}", rank),         fmt::format("WORLD_SIZE={}", size),
      fmt::format("LOCAL_RANK={}", rank),   fmt::format("LOCAL_WORLD_SIZE={}", size),
      std::string("MASTER_ADDR=127.0.0.1"), fmt::format("MASTER_PORT={}", port),
      std::string(kStartedWorker) + "=1"};
  std::vector<std::string> variables = own;
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(own.begin(), own.end(), [&](const std::string& set) {
      return std::string_view(set).substr(0, set.find('=')) == name;
    });
    if (!replaced) variables.emplace_back(text);
  }
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

pid_t spawn(std::vector<std::string> arguments, std::vector<std::string> environment) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  pid_t id = -1;
  const int error = posix_spawn(&id, program.c_str(), &actions, nullptr, pointers(arguments).data(),
                                pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw Error("{}: cannot start a worker: {}", program, std::strerror(error));
  return id;
}

}  // namespace

WorkerProcesses::WorkerProcesses(int size, uint16_t port) : size_(size) {
  for (int rank = 1; rank < size; ++rank) {
    children_.push_back({rank, spawn(own_arguments(), environment_of(rank, size, port)), {}});
  }
}

WorkerProcesses::~WorkerProcesses() {
  if (wait(kSecondsToEnd)) return;
  send(SIGTERM);
  if (wait(kSecondsToObey)) return;
  send(SIGKILL);
  wait(kSecondsToObey);
}

void WorkerProcesses::send(int signal) {
  for (const Child& child : children_) {
    if (!child.status) kill(child.id, signal);
  }
}

void WorkerProcesses::look() {
  for (Child& child : children_) {
    int status = 0;
    if (!child.status && waitpid(child.id, &status, WNOHANG) == child.id) child.status = status;
  }
}

bool WorkerProcesses::wait(double seconds) {
  const double deadline = now_seconds() + seconds;
  while (true) {
    look();
    if (std::all_of(children_.begin(), children_.end(),
                    [](const Child& child) { return child.status.has_value(); })) {
      return true;
    }
    if (now_seconds() > deadline) return false;
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

std::optional<std::string> WorkerProcesses::failure() {
  if (const auto by_signal = killed()) return by_signal;
  for (const Child& child : children_) {
    if (child.status && *child.status != 0) {
      return fmt::format("worker {} (of 0 to {}, process {}) has ended with exit code {}",
                         child.rank, size_ - 1, child.id, WEXITSTATUS(*child.status));
    }
  }
  return std::nullopt;
}

std::optional<std::string> WorkerProcesses::killed() {
  look();
  for (const Child& child : children_) {
    if (child.status && WIFSIGNALED(*child.status)) {
      const int signal = WTERMSIG(*child.status);
      return fmt::format("worker {} (of 0 to {}, process {}) was ended by signal {} ({})",
                         child.rank, size_ - 1, child.id, signal, strsignal(signal));
    }
  }
  return std::nullopt;
}

}  // namespace filigree::train
