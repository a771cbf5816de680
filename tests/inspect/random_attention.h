// Small attention matrices for tests, dense: the truth is computed from these.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "filigree/inspect/sparse_attention.h"
#include "filigree/inspect/tokens.h"

namespace filigree::inspect {

/// [query][key]
using Dense = std::vector<std::vector<float>>;

/// Rows of distributions with about half of their weights zero; causal ones for the decoder.
Dense random_attention(AttentionBlock block, int queries, int keys, uint64_t seed);
SparseAttention sparse(const Dense& weights);

/// Tokens from pieces written with "_" for a space: "_the _cat s ." The mark is put at the end
/// (</s>) or, for a target, in front (<s>).
Tokens source_of(const std::string& pieces);
Tokens target_of(const std::string& pieces);

}  // namespace filigree::inspect
