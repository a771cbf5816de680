#include "filigree/train/run_workers.h"

#include <torch/torch.h>
#include <unistd.h>

#include "filigree/base/error.h"
#include "filigree/train/rendezvous.h"
#include "filigree/train/worker_place.h"
#include "filigree/train/worker_processes.h"

namespace filigree::train {
namespace {

// How long processes that end may take to be seen to have ended.
constexpr double kSecondsToEnd = 5;

void run_in(WorkerGroup& group, const std::function<void(WorkerGroup&)>& body) {
  try {
    body(group);
    group.leave();
  } catch (const WorkerLost&) {
    throw;
  } catch (const Interrupted&) {
    group.leave();
    throw;
  } catch (const c10::Error& error) {
    group.report_failure(error.what_without_backtrace());
    throw;
  } catch (const std::exception& error) {
    group.report_failure(error.what());
    throw;
  }
}

// A worker that worker 0 started: what goes wrong is for worker 0 to tell, as long as it lives.
void run_started(WorkerGroup& group, const std::function<void(WorkerGroup&)>& body) {
  const pid_t first = getppid();
  try {
    run_in(group, body);
  } catch (const std::exception& error) {
    if (getppid() != first) throw;
    throw SaidElsewhere("{}", error.what());
  }
}

void run_as_first(int workers, const std::function<void(WorkerGroup&)>& body) {
  const Rendezvous rendezvous({.size = workers, .local_size = workers});
  WorkerProcesses processes(workers, rendezvous.place().port);
  WorkerGroup group(rendezvous, [&] {
    if (const auto failure = processes.failure()) throw Error("{}", *failure);
  });
  try {
    run_in(group, body);
  } catch (const WorkerLost&) {
    processes.wait(kSecondsToEnd);
    const auto killed = processes.killed();
    if (!killed) throw;
    throw Error("{}; the same command goes on from the last checkpoint", *killed);
  }
}

}  // namespace

void run_workers(int workers, const std::function<void(WorkerGroup&)>& body) {
  const WorkerPlace place = worker_place();
  if (place.size == 1 && workers > 1) return run_as_first(workers, body);
  if (place.size == 1) {
    WorkerGroup alone;
    return body(alone);
  }
  if (workers > 1 && !is_started_worker()) {
    throw UsageError("--workers: this process is already one of {} workers (WORLD_SIZE)",
                     place.size);
  }
  const Rendezvous rendezvous(place);
  WorkerGroup group(rendezvous, [] {});
  is_started_worker() ? run_started(group, body) : run_in(group, body);
}

}  // namespace filigree::train
