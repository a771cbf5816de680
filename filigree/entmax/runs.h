// Rows with an α each, as the kernels take them: runs that share one α.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace filigree::entmax_operators {

/// α of rows in order: each value holds for `repeat` rows one after another.
struct RowAlphas {
  std::vector<double> values;
  int64_t repeat;
};

/// Calls work(first row, rows, α) for runs of rows that share α, on several threads.
template <typename Work>
void for_each_run(int64_t rows, int64_t size, const RowAlphas& alphas, Work&& work) {
  constexpr int64_t kGrain = 16384;  // fewer entries are not worth a second thread
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, size));
  at::parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t first = begin; first < end;) {
      const int64_t which = first / alphas.repeat;
      const int64_t last = std::min(end, (which + 1) * alphas.repeat);
      work(first, last - first, alphas.values[static_cast<size_t>(which)]);
      first = last;
    }
  });
}

}  // namespace filigree::entmax_operators
