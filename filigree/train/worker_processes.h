// `filigree train --workers N`: this process as worker 0, and the same program again N − 1 times.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace filigree::train {

class WorkerProcesses {
 public:
  /// Starts this program with the same arguments as workers 1 … size − 1, which find worker 0 on
  /// this machine at `port`. Throws Error when that fails.
  WorkerProcesses(int size, uint16_t port);
  /// Ends those that do not end by themselves within some seconds.
  ~WorkerProcesses();
  WorkerProcesses(const WorkerProcesses&) = delete;

  /// Which of them has failed, and how; nothing when none has so far.
  std::optional<std::string> failure();
  /// Likewise, of those that a signal has ended.
  std::optional<std::string> killed();
  /// Waits until all have ended, at most `seconds`; false when some have not.
  bool wait(double seconds);

 private:
  struct Child {
    int rank;
    pid_t id;
    std::optional<int> status;  // as waitpid() says it
  };
  void look();
  void send(int signal);

  std::vector<Child> children_;
  int size_;
};

}  // namespace filigree::train
