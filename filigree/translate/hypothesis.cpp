#include "filigree/translate/hypothesis.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace filigree::translate {

double normalised_score(double log_probability, size_t length, double length_penalty) {
  return log_probability /
         std::pow(static_cast<double>(std::max<size_t>(length, 1)), length_penalty);
}

double log_coverage(std::span<const float> attention) {
  constexpr float kLeast = 0.01f;
  double sum = 0;
  for (const float received : attention) sum += std::log(std::clamp(received, kLeast, 1.0f));
  return sum;
}

LiveHypothesis LiveHypothesis::extended(int token, double log_probability, StepScores& scores,
                                        int row, int end, const SearchOptions& options) const {
  LiveHypothesis next = *this;
  next.so_far.token_log_probabilities.push_back(static_cast<float>(log_probability));
  if (std::isinf(log_probability)) {
    next.so_far.impossible += 1;
  } else {
    next.so_far.log_probability += log_probability;
    next.so_far.penalties += scores.log_probability(row, token) - log_probability;
  }
  if (token != end) next.so_far.tokens.push_back(token);
  if (options.coverage_penalty > 0) scores.add_mean_attention(row, next.attention);
  if (!options.attention_heads.empty()) {
    const std::span<const float> weights = scores.attention.at(row);
    const auto source_length = static_cast<int>(weights.size()) / (scores.layers * scores.heads);
    next.so_far.attention.push_back(std::make_shared<const AttentionRow>(
        sparse_row(weights, source_length, options.attention_heads)));
  }
  return next;
}

Hypothesis LiveHypothesis::finished(const SearchOptions& options, bool complete) && {
  Hypothesis& result = so_far;
  result.complete = complete;
  if (options.coverage_penalty > 0) {
    result.coverage = options.coverage_penalty * log_coverage(attention);
  }
  const size_t length = result.token_log_probabilities.size();
  result.penalties -= options.word_penalty * static_cast<double>(length);
  result.score = result.coverage + normalised_score(result.log_probability + result.penalties,
                                                    length, options.length_penalty);
  if (result.impossible > 0) result.log_probability = -std::numeric_limits<double>::infinity();
  return std::move(result);
}

bool scores_better(const Hypothesis& a, const Hypothesis& b) {
  return a.impossible != b.impossible ? a.impossible < b.impossible : a.score > b.score;
}

}  // namespace filigree::translate
