// Smaller models: attention heads cut out of the weights.
#pragma once

#include <compare>
#include <cstdint>
#include <set>

#include "filigree/model/transformer.h"

namespace filigree::model {

/// A head; layers and heads count from 0.
struct HeadPlace {
  AttentionBlock block;
  int64_t layer, head;
  auto operator<=>(const HeadPlace&) const = default;
};

/// The model without these heads: their rows of the query, key and value projections and their
/// columns of the output projection are gone, which is what the model computes when their context
/// vectors are zero. Heads that stay keep their order and are counted anew. The model itself stays
/// as it is; the result has weights of its own. Throws Error on a head that the model does not
/// have, and when a layer of a block would be left without a head.
Transformer without_heads(const Transformer& model, const std::set<HeadPlace>& heads);

}  // namespace filigree::model
