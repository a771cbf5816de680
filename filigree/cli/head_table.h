// A table with one number per attention head: blocks and layers down, heads across.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "filigree/model/config.h"

namespace filigree::cli {

/// What to print for a head; layers and heads count from 0.
using HeadText =
    std::function<std::string(model::AttentionBlock block, int64_t layer, int64_t head)>;

/// Lines such as "encoder  2    1.52   1.07   1.93   1.31", under a heading.
/// `width`: of a column, in characters.
std::string head_table(const model::ModelConfig& config, const HeadText& text, int width = 15);

/// "adaptive, α 1 to 2" or "entmax, α 1.5": what a block's transform is.
std::string describe(const model::AttentionTransform& attention);

}  // namespace filigree::cli
