// What the cross-attention looked at when one token was predicted: its weights above zero.
#pragma once

#include <memory>
#include <span>
#include <vector>

namespace filigree::translate {

struct AttentionWeight {
  int head;    ///< layer · heads + head
  int source;  ///< position among the source's pieces; their number is that of </s>
  float weight;
};
using AttentionRow = std::vector<AttentionWeight>;

/// One row for each token, in order; hypotheses with a common past share rows.
using AttentionRows = std::vector<std::shared_ptr<const AttentionRow>>;

/// The weights above zero of the given heads; weights [layers · heads, source_length].
AttentionRow sparse_row(std::span<const float> weights, int source_length,
                        std::span<const int> heads);

}  // namespace filigree::translate
