#include "filigree/base/threads.h"

#include <sched.h>

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

namespace filigree {

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

void run_parallel(int count, const std::function<void(int)>& body) {
  std::vector<std::exception_ptr> failures(static_cast<size_t>(count));
  auto guarded = [&](int index) {
    try {
      body(index);
    } catch (...) {
      failures[static_cast<size_t>(index)] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (int index = 1; index < count; ++index) threads.emplace_back(guarded, index);
  if (count > 0) guarded(0);
  for (auto& thread : threads) thread.join();
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace filigree
