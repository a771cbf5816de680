// Threads: how many to use, and a way to run the same function on several.
#pragma once

#include <functional>

namespace filigree {

/// Cores that this process may run on (its CPU affinity), at least 1.
int usable_cores();

/// Runs body(0) … body(count − 1) on as many threads, the first on the caller's, and waits for all.
/// The first exception, by index, is thrown again here.
void run_parallel(int count, const std::function<void(int)>& body);

}  // namespace filigree
