#include "filigree/cli/version.h"

#include <fmt/format.h>
#include <hwy/detect_targets.h>
#include <hwy/targets.h>
#include <torch/version.h>

#include "filigree/base/version.h"

namespace filigree::cli {

std::string version_text() {
  // Of the instruction sets that were compiled in and that this machine has, the best one, which
  // Highway gives the lowest bit.
  const auto targets = hwy::SupportedTargets() & HWY_TARGETS;
  const auto best = targets & -targets;
  return fmt::format("filigree {}\nLibTorch {}\nSIMD {}\n", version(), TORCH_VERSION,
                     hwy::TargetName(best));
}

}  // namespace filigree::cli
