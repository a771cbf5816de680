#include "filigree/translate/sampling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace filigree::translate {
namespace {

struct Weighted {
  int token;
  double weight;
};

bool more_probable(const Weighted& a, const Weighted& b) {
  return a.weight != b.weight ? a.weight > b.weight : a.token < b.token;
}

double sum(const std::vector<Weighted>& tokens) {
  double total = 0;
  for (const Weighted& t : tokens) total += t.weight;
  return total;
}

/// exp((score − best) / temperature) of the tokens for which it is not zero, in ascending order.
std::vector<Weighted> weigh(std::span<const float> scores, double temperature) {
  std::vector<Weighted> tokens;
  if (scores.empty()) return tokens;
  const double best = *std::max_element(scores.begin(), scores.end());
  if (!std::isfinite(best)) return tokens;
  for (size_t i = 0; i < scores.size(); ++i) {
    const double weight = std::exp((scores[i] - best) / temperature);
    if (weight > 0) tokens.push_back({static_cast<int>(i), weight});
  }
  return tokens;
}

void keep_top_k(std::vector<Weighted>& tokens, int k) {
  if (tokens.size() <= static_cast<size_t>(k)) return;
  std::nth_element(tokens.begin(), tokens.begin() + k, tokens.end(), more_probable);
  tokens.resize(k);
}

void keep_top_p(std::vector<Weighted>& tokens, double p) {
  const double total = sum(tokens);
  // Tokens below this have less than (1 − p) together and are never needed, which saves sorting
  // them.
  const double negligible = (1 - p) * total / static_cast<double>(tokens.size());
  std::erase_if(tokens, [&](const Weighted& t) { return t.weight < negligible; });
  std::sort(tokens.begin(), tokens.end(), more_probable);
  double kept = 0;
  size_t count = 0;
  while (count < tokens.size() && (count == 0 || kept < p * total)) kept += tokens[count++].weight;
  tokens.resize(count);
}

}  // namespace

int sample_token(std::span<const float> scores, const TokenSampling& sampling, double uniform) {
  std::vector<Weighted> tokens = weigh(scores, sampling.temperature);
  if (tokens.empty()) return -1;
  if (sampling.top_k > 0) keep_top_k(tokens, sampling.top_k);
  if (sampling.top_p < 1) keep_top_p(tokens, sampling.top_p);
  if (sampling.top_k > 0 || sampling.top_p < 1) {
    std::sort(tokens.begin(), tokens.end(),
              [](const Weighted& a, const Weighted& b) { return a.token < b.token; });
  }
  double left = uniform * sum(tokens);
  for (const Weighted& t : tokens) {
    left -= t.weight;
    if (left < 0) return t.token;
  }
  return tokens.back().token;  // Rounding only.
}

}  // namespace filigree::translate
