// A model directory, ready to score given translations. Needs no LibTorch header.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "filigree/model/config.h"
#include "filigree/text/pair_reader.h"
#include "filigree/translate/translation.h"

namespace filigree::translate {

struct ScorerOptions {
  /// Output::score = log-probability / length^length_penalty; 0: the log-probability.
  double length_penalty = 0;
  bool alignment = false;       ///< fill Output::piece_links
  bool attention = false;       ///< fill Output::attention as well, with all heads
  int threads = 1;              ///< batches scored at the same time; the weights are shared
  int mini_batch = 64;          ///< most pairs in a batch
  int mini_batch_words = 4096;  ///< most pieces of either side in a batch (a longer pair is alone)
};

class Scorer {
 public:
  /// Throws Error naming the file when the directory is not a whole model, UsageError on options
  /// that are out of range.
  explicit Scorer(const std::filesystem::path& model_directory, ScorerOptions options = {});
  ~Scorer();
  Scorer(Scorer&&) noexcept;

  /// What the model says of every pair, in order: a translation whose one output has the target's
  /// text, cut into pieces as the tokenizer does. Pairs are never split or cut off. Lines must be
  /// UTF-8. May be called from several threads.
  std::vector<Translation> score(std::span<const text::SentencePair> pairs) const;

  const model::ModelConfig& config() const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace filigree::translate
