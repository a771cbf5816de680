// Random segmentations of normalised text (with '▁' for spaces) into the pieces of a model.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "filigree/base/random.h"
#include "filigree/text/subword_pieces.h"

namespace filigree::text {

/// const methods may be called from several threads.
class Segmenter {
 public:
  virtual ~Segmenter() = default;
  /// Ids of a random segmentation; empty when the pieces do not cover the text.
  virtual std::vector<int32_t> sample(std::string_view text, Random& random) const = 0;
};

/// BPE with dropout: merges the adjacent pair of the highest score (the left one of equals), again
/// and again, but each time it is a pair's turn it is passed over with probability `dropout`. Both
/// keep a reference to `model`.
std::unique_ptr<Segmenter> make_bpe_dropout(const SubwordPieces& model, double dropout);

/// A segmentation x with probability ∝ exp(alpha · Σ scores): forward filtering over the lattice of
/// all segmentations, backward sampling.
std::unique_ptr<Segmenter> make_unigram_sampling(const SubwordPieces& model, double alpha);

}  // namespace filigree::text
