// Rows with an α each, as the kernels take them: runs that share one α.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace filigree::entmax_operators {

/// Calls work(first row, rows, α) for runs of rows that share α, on several threads. alphas: one
/// for all rows, or one per row.
template <typename Work>
void for_each_run(int64_t rows, int64_t size, const std::vector<double>& alphas, Work&& work) {
  constexpr int64_t kGrain = 16384;  // fewer entries are not worth a second thread
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, size));
  at::parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    if (alphas.size() == 1) return work(begin, end - begin, alphas[0]);
    for (int64_t first = begin; first < end;) {
      int64_t last = first + 1;
      while (last < end && alphas[last] == alphas[first]) ++last;
      work(first, last - first, alphas[first]);
      first = last;
    }
  });
}

}  // namespace filigree::entmax_operators
