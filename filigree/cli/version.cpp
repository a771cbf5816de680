#include "filigree/cli/version.h"

#include <fmt/format.h>
#include <hwy/targets.h>
#include <torch/version.h>

#include "filigree/base/version.h"

namespace filigree::cli {

std::string version_text() {
  // Highway numbers its targets so that the best one has the lowest bit.
  const auto targets = hwy::SupportedTargets();
  const auto best = targets & -targets;
  return fmt::format("filigree {}\nLibTorch {}\nSIMD {}\n", version(), TORCH_VERSION,
                     hwy::TargetName(best));
}

}  // namespace filigree::cli
