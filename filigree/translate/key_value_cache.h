// Keys and values of the tokens decoded so far. Those of a token, in all layers, have a cell that
// never moves; a hypothesis is a list of cells, which hypotheses with a common past share.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace filigree::translate {

class KeyValueCache {
 public:
  /// cell_size: numbers of a token, in all layers.
  explicit KeyValueCache(int64_t cell_size) : cell_size_(cell_size) {}

  float* take();
  void give_back(float* cell) { free_.push_back(cell); }

 private:
  int64_t cell_size_;
  std::vector<std::unique_ptr<float[]>> chunks_;
  std::vector<float*> free_;
};

}  // namespace filigree::translate
