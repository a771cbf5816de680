// A hand-made scorer of next tokens for the tests of the search: its log-probabilities follow from
// the sentence and the prefix alone, so that every output can be enumerated.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "filigree/base/random.h"
#include "filigree/translate/search.h"

namespace filigree::translate {

class ScoreTable : public StepFunction {
 public:
  static constexpr int kStart = 0, kEnd = 1;

  /// sentences: what tells the sentences' scores apart. zeros: share of exact zero probabilities.
  ScoreTable(std::vector<uint64_t> sentences, int vocabulary, double zeros = 0)
      : sentences_(std::move(sentences)), vocabulary_(vocabulary), zeros_(zeros) {}

  TargetVocabulary vocabulary() const override { return {vocabulary_, kStart, kEnd}; }

  void step(std::span<const SearchRow> rows, StepScores& scores) override {
    scores.resize(static_cast<int>(rows.size()), vocabulary_);
    std::vector<std::vector<int>> next;
    for (size_t r = 0; r < rows.size(); ++r) {
      std::vector<int> prefix;
      if (rows[r].parent >= 0) {
        prefix = prefixes_.at(rows[r].parent);
        prefix.push_back(rows[r].token);
      }
      set_row(scores, static_cast<int>(r),
              log_probabilities_of(sentences_.at(rows[r].sentence), prefix));
      next.push_back(std::move(prefix));
    }
    prefixes_ = std::move(next);
    if (!source_lengths_.empty()) set_attention(rows, scores);
    steps_ += 1;
    rows_ += static_cast<int>(rows.size());
  }
  void release(int sentence) override { released_.push_back(sentence); }

  /// Makes log-probabilities a row of scores.
  static void set_row(StepScores& scores, int row, const std::vector<float>& log_probabilities) {
    std::copy(log_probabilities.begin(), log_probabilities.end(), scores.values(row));
    scores.log_normaliser(row) = 0;
    for (const float value : log_probabilities) {
      if (std::isnan(value)) scores.log_normaliser(row) = value;
    }
    scores.find_block_maxima(row);
  }

  /// Sets what follows a prefix, in any sentence.
  void set(const std::vector<int>& prefix, std::vector<float> probabilities) {
    for (float& p : probabilities) p = std::log(p);
    set_logarithms(prefix, std::move(probabilities));
  }
  void set_logarithms(const std::vector<int>& prefix, std::vector<float> log_probabilities) {
    given_[prefix] = std::move(log_probabilities);
  }

  std::vector<float> log_probabilities_of(uint64_t sentence, const std::vector<int>& prefix) const {
    if (const auto found = given_.find(prefix); found != given_.end()) return found->second;
    uint64_t key = combine(sentence, prefix.size());
    for (const int token : prefix) key = combine(key, token);
    Random random(key);
    std::vector<double> weights(vocabulary_);
    double total = 0;
    for (double& weight : weights) {
      weight = random.uniform() < zeros_ ? 0 : std::exp(3 * random.uniform());
      total += weight;
    }
    std::vector<float> result;
    for (const double weight : weights) {
      result.push_back(weight == 0 ? -std::numeric_limits<float>::infinity()
                                   : static_cast<float>(std::log(weight / total)));
    }
    return result;
  }

  /// Lets the steps give attention weights of two layers with two heads.
  void give_attention(std::vector<int> source_lengths) {
    source_lengths_ = std::move(source_lengths);
  }

  /// The weights [2 layers, 2 heads, source_length + 1] after a prefix; many are zero.
  static std::vector<float> attention_of(uint64_t sentence, const std::vector<int>& prefix,
                                         int source_length) {
    uint64_t key = combine(sentence, 77);
    for (const int token : prefix) key = combine(key, token);
    Random random(key);
    std::vector<float> weights;
    for (int row = 0; row < 4; ++row) {
      std::vector<double> z(source_length + 1);
      double total = 0;
      for (double& weight : z) total += weight = std::max(0.0, random.uniform() - 0.5);
      for (const double weight : z) {
        weights.push_back(static_cast<float>(total > 0 ? weight / total : 0));
      }
    }
    return weights;
  }

  int steps() const { return steps_; }
  int rows() const { return rows_; }
  /// The sentences that are over, in the order in which they were.
  const std::vector<int>& released() const { return released_; }

 private:
  void set_attention(std::span<const SearchRow> rows, StepScores& scores) {
    attention_.clear();
    for (size_t r = 0; r < rows.size(); ++r) {
      const int sentence = rows[r].sentence;
      attention_.push_back(
          attention_of(sentences_[sentence], prefixes_[r], source_lengths_[sentence]));
    }
    scores.layers = scores.heads = scores.last_layer_heads = 2;
    scores.attention.assign(attention_.begin(), attention_.end());
  }

  std::vector<uint64_t> sentences_;
  int vocabulary_;
  double zeros_;
  std::map<std::vector<int>, std::vector<float>> given_;
  std::vector<std::vector<int>> prefixes_;
  int steps_ = 0, rows_ = 0;
  std::vector<int> released_, source_lengths_;
  std::vector<std::vector<float>> attention_;
};

}  // namespace filigree::translate
