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

}  // namespace filigree::translate
