#include "tests/inspect/random_attention.h"

#include <sstream>

#include "filigree/base/random.h"

namespace filigree::inspect {
namespace {

std::vector<std::string> pieces_of(const std::string& text) {
  std::vector<std::string> pieces;
  std::istringstream stream(text);
  for (std::string piece; stream >> piece;) {
    if (piece.starts_with('_')) piece = "▁" + piece.substr(1);
    pieces.push_back(piece);
  }
  return pieces;
}

}  // namespace

Dense random_attention(AttentionBlock block, int queries, int keys, uint64_t seed) {
  Random random(seed);
  Dense weights(static_cast<size_t>(queries), std::vector<float>(static_cast<size_t>(keys)));
  for (int q = 0; q < queries; ++q) {
    auto& row = weights[static_cast<size_t>(q)];
    const auto visible = static_cast<size_t>(visible_keys(block, q, keys));
    double sum = 0;
    for (size_t k = 0; k < visible; ++k) {
      if (random.uniform() < 0.5) row[k] = static_cast<float>(random.uniform());
      sum += row[k];
    }
    if (sum == 0) row[random.below(visible)] = static_cast<float>(sum = 1);
    for (float& weight : row) weight /= static_cast<float>(sum);
  }
  return weights;
}

SparseAttention sparse(const Dense& weights) {
  std::vector<float> flat;
  for (const auto& row : weights) flat.insert(flat.end(), row.begin(), row.end());
  return {flat.data(), static_cast<int32_t>(weights.size()),
          static_cast<int32_t>(weights.empty() ? 0 : weights[0].size())};
}

Tokens source_of(const std::string& pieces) {
  return source_tokens(pieces_of(pieces), english_question_words());
}

Tokens target_of(const std::string& pieces) { return target_tokens(pieces_of(pieces)); }

}  // namespace filigree::inspect
