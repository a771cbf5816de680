#include "filigree/translate/attention_row.h"

namespace filigree::translate {

AttentionRow sparse_row(std::span<const float> weights, int source_length,
                        std::span<const int> heads) {
  AttentionRow row;
  for (const int head : heads) {
    const float* const of_head = weights.data() + static_cast<size_t>(head) * source_length;
    for (int source = 0; source < source_length; ++source) {
      if (of_head[source] > 0) row.push_back({head, source, of_head[source]});
    }
  }
  return row;
}

}  // namespace filigree::translate
