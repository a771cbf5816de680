#include "filigree/cli/head_table.h"

#include <fmt/format.h>

namespace filigree::cli {

std::string head_table(const model::ModelConfig& config, const HeadText& text, int width) {
  std::string table = fmt::format("{:8} {:>5}", "block", "layer");
  for (int64_t head = 0; head < config.heads; ++head) {
    table += fmt::format("{:>{}}", fmt::format("head {}", head + 1), width);
  }
  table += '\n';
  for (const model::AttentionBlock block : model::kAttentionBlocks) {
    for (int64_t layer = 0; layer < config.layers(block); ++layer) {
      table += fmt::format("{:8} {:>5}", name_of(block), layer + 1);
      for (int64_t head = 0; head < config.heads_of(block, layer); ++head) {
        table += fmt::format("{:>{}}", text(block, layer, head), width);
      }
      table += '\n';
    }
  }
  return table;
}

std::string describe(const model::AttentionTransform& attention) {
  const std::string name = to_string(attention.transform);
  if (attention.learned()) {
    return fmt::format("{}, α {} to {}", name, attention.alpha_min, attention.alpha_max);
  }
  return fmt::format("{}, α {}", name, attention.fixed_alpha());
}

}  // namespace filigree::cli
