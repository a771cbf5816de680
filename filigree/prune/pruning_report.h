// What pruning did, in words and as data.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "filigree/prune/prune.h"

namespace filigree::prune {

/// A summary, a line for each head that was taken out, and a table of what is left. Layers and
/// heads count from 1.
std::string to_text(const Pruning& pruning);

/// The same and more; layers and heads count from 0.
nlohmann::ordered_json to_json(const Pruning& pruning);

}  // namespace filigree::prune
