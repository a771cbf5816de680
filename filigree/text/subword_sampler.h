// Subword regularisation: the same text in other pieces every time that it is trained on.
//
// Unigram models: Kudo (2018), "Subword Regularization: Improving Neural Network Translation Models
// with Multiple Subword Candidates", with l = ∞. BPE: Provilkov, Emelianenko and Voita (2020),
// "BPE-Dropout: Simple and Effective Subword Regularization". SentencePiece offers both, but draws
// from a generator that cannot be set back; here a sample is a function of its key.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "filigree/text/tokenizer.h"

namespace filigree::text {

/// Copies share their tables; const methods may be called from several threads.
class SubwordSampler {
 public:
  /// alpha: with a unigram model, a segmentation x is drawn with probability ∝ P(x)^alpha, alpha
  /// above 0 (0.1 to 0.5 are common; the higher, the more often the best one); with BPE, every
  /// merge is skipped with probability alpha, from 0 to 1 (0.1 is common). Throws UsageError on
  /// other values, and on models of whole words or single characters.
  SubwordSampler(const Tokenizer& tokenizer, double alpha);

  /// Other ids for the text that `ids` stand for. Unknown pieces, bytes and user-defined pieces
  /// stay as they are. The same ids and key give the same sample.
  std::vector<int32_t> sample(std::span<const int32_t> ids, uint64_t key) const;

 private:
  struct Tables;
  std::shared_ptr<const Tables> tables_;
};

}  // namespace filigree::text
