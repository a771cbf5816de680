#include "filigree/translate/step_function.h"

#include <algorithm>

namespace filigree::translate {

void StepScores::resize(int rows, int vocabulary) {
  rows_ = rows;
  vocabulary_ = vocabulary;
  const auto grow = [](std::vector<float>& buffer, size_t size) {
    if (buffer.size() < size) buffer.resize(size);
  };
  grow(values_, static_cast<size_t>(rows) * vocabulary);
  grow(log_normalisers_, rows);
  grow(block_maxima_, static_cast<size_t>(rows) * blocks());
}

void StepScores::find_block_maxima(int row) {
  const float* const value = values(row);
  float* const maxima = block_maxima(row);
  for (int block = 0; block < blocks(); ++block) {
    const int begin = block * kBlock;
    maxima[block] = *std::max_element(value + begin, value + std::min(begin + kBlock, vocabulary_));
  }
}

void StepScores::add_mean_attention(int row, std::span<float> sums) const {
  const std::span<const float> weights = attention.at(row);
  const size_t pieces = weights.size() / (static_cast<size_t>(layers) * heads);
  for (int head = 0; head < last_layer_heads; ++head) {
    const auto of_head = weights.subspan(((layers - 1) * heads + head) * pieces, sums.size());
    for (size_t i = 0; i < sums.size(); ++i)
      sums[i] += of_head[i] / static_cast<float>(last_layer_heads);
  }
}

}  // namespace filigree::translate
