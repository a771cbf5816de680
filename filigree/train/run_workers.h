// One training by several processes: how they come together and how they part.
#pragma once

#include <functional>

#include "filigree/train/worker_group.h"

namespace filigree::train {

/// Calls `body` as one of the workers that the environment speaks of (see worker_place()); or, with
/// workers > 1, as worker 0 of so many processes of this program on this machine, with the same
/// arguments; or alone. What body throws makes all workers end. Throws UsageError when environment
/// and `workers` contradict each other, what body throws (in processes that worker 0 started:
/// SaidElsewhere), and Error when another worker is gone.
void run_workers(int workers, const std::function<void(WorkerGroup&)>& body);

}  // namespace filigree::train
