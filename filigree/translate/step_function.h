// What a search and a model say to each other: rows in, scores of next tokens out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace filigree::translate {

/// The tokens of the output side.
struct TargetVocabulary {
  int size = 0;
  int start = 0;  ///< what the first step is given as its previous token; never part of an output
  int end = 0;    ///< ends an output
};

/// One live hypothesis, as a step function sees it.
struct SearchRow {
  int sentence;  ///< the number it was added under
  int parent;    ///< the row of the step before that this one continues; −1 begins the sentence
  int token;     ///< the token that was appended to it
};

/// What a step function says about the next token of every row: log p(token) = value −
/// log_normaliser, so that a softmax need not be written out. Kept from step to step, so that its
/// memory is allocated once.
class StepScores {
 public:
  /// Tokens per block of `block_maxima`.
  static constexpr int kBlock = 64;

  void resize(int rows, int vocabulary);

  int rows() const { return rows_; }
  int vocabulary() const { return vocabulary_; }
  int blocks() const { return (vocabulary_ + kBlock - 1) / kBlock; }

  /// [vocabulary] for each row. −inf is a probability of zero; a search may lower values in place.
  float* values(int row) { return values_.data() + static_cast<size_t>(row) * vocabulary_; }
  /// NaN when a value of the row is.
  float& log_normaliser(int row) { return log_normalisers_[row]; }
  /// [blocks] for each row: nothing in a block is above it, so that a search for the best few skips
  /// most of the vocabulary.
  float* block_maxima(int row) {
    return block_maxima_.data() + static_cast<size_t>(row) * blocks();
  }
  /// At most 0, also where rounding says otherwise, so that sums of it only fall.
  double log_probability(int row, int token) {
    return std::min(static_cast<double>(values(row)[token]) - log_normaliser(row), 0.0);
  }

  /// Sets a row's block maxima from its values.
  void find_block_maxima(int row);

  /// The cross-attention weights of the step, for each row [layers, heads, source pieces with
  /// </s>]; no rows where the step function was not made to give them. Valid until the next step.
  std::vector<std::span<const float>> attention;
  int layers = 0, heads = 0;  ///< in `attention`; heads that were pruned have zeros there
  int last_layer_heads = 0;   ///< the heads of the last layer that were not
  /// Adds the row's weights, the mean over the heads of the last layer, to as many source pieces as
  /// there are sums.
  void add_mean_attention(int row, std::span<float> sums) const;

 private:
  int rows_ = 0, vocabulary_ = 0;
  std::vector<float> values_, log_normalisers_, block_maxima_;
};

/// Scores next tokens of several sentences, each at a position of its own. It keeps what it needs
/// from step to step and follows `parent` to put it in order. Rows of a sentence stay together and
/// sentences are in ascending order; a sentence whose rows are absent from a step has none left.
class StepFunction {
 public:
  virtual ~StepFunction() = default;
  virtual TargetVocabulary vocabulary() const = 0;
  /// A sentence that a later step begins: its source, ids without </s>.
  virtual void add(int sentence, std::span<const int> source) {
    static_cast<void>(sentence);
    static_cast<void>(source);
  }
  /// Scores every row, of which there is at least one. A row's scores must not depend on the other
  /// rows.
  virtual void step(std::span<const SearchRow> rows, StepScores& scores) = 0;
  /// The search of a sentence is over: what is kept for it may go.
  virtual void release(int sentence) { static_cast<void>(sentence); }
};

}  // namespace filigree::translate
