// Runs kernels on a chosen instruction set, for tests that compare all of those the processor has.
#pragma once

#include <hwy/highway.h>

#include <cstdint>
#include <vector>

namespace filigree {

/// While it lives, kernels run on `target`, one of hwy::SupportedAndGeneratedTargets().
class OnTarget {
 public:
  explicit OnTarget(int64_t target) { hwy::GetChosenTarget().Update(target); }
  ~OnTarget() { hwy::GetChosenTarget().Update(hwy::SupportedTargets()); }
  OnTarget(const OnTarget&) = delete;
};

}  // namespace filigree
