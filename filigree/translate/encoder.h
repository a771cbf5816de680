// The encoder on packed weights, up to what the decoder reads of it: the keys and values of its
// cross-attention.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "filigree/translate/packed_model.h"
#include "filigree/translate/workspace.h"

namespace filigree::translate {

class Encoder {
 public:
  explicit Encoder(const PackedModel& model) : model_(model) {}

  /// Encodes sources (ids without </s>, which it adds) and writes the keys and values of every
  /// decoder layer to `keys_values`, [N, decoder layers, 2D], where N counts the tokens of all
  /// sources, one source after another. A source's result does not depend on the others.
  void encode(const std::vector<std::span<const int>>& sources, Buffer& keys_values);

 private:
  void embed(const std::vector<std::span<const int>>& sources, float* x);
  void attend_to_itself(const PackedSelfAttention& layer, float* x);

  const PackedModel& model_;
  Workspace workspace_;
  std::vector<float> positions_;
  int64_t tokens_ = 0;
  std::vector<int32_t> lengths_;                   ///< of its source, for every token
  std::vector<int64_t> begins_;                    ///< where its source begins, for every token
  std::vector<const float*> keys_;                 ///< for every token
  std::vector<const float* const*> keys_of_rows_;  ///< for every token, those of its source
};

}  // namespace filigree::translate
