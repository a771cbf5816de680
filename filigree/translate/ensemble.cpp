#include "filigree/translate/ensemble.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "filigree/translate/row_kernels.h"

namespace filigree::translate {

Ensemble::Ensemble(std::vector<std::unique_ptr<StepFunction>> members)
    : members_(std::move(members)), scores_(members_.size()) {}

TargetVocabulary Ensemble::vocabulary() const { return members_.front()->vocabulary(); }

void Ensemble::step(std::span<const SearchRow> rows, StepScores& scores) {
  for (size_t m = 0; m < members_.size(); ++m) members_[m]->step(rows, scores_[m]);
  scores.resize(static_cast<int>(rows.size()), vocabulary().size);
  for (int row = 0; row < scores.rows(); ++row) average_row(row, scores);
  average_attention(scores);
}

void Ensemble::average_row(int row, StepScores& scores) {
  const int size = scores.vocabulary();
  float* const values = scores.values(row);
  float normaliser = std::log(static_cast<float>(members_.size()));
  for (StepScores& member : scores_) {
    const float shift = member.log_normaliser(row);
    if (&member == &scores_.front()) {
      for (int i = 0; i < size; ++i) values[i] = member.values(row)[i] - shift;
    } else {
      log_add(member.values(row), shift, size, values);
    }
    normaliser += 0 * shift;  // NaN stays NaN.
  }
  scores.log_normaliser(row) = normaliser;
  scores.find_block_maxima(row);
}

void Ensemble::average_attention(StepScores& scores) {
  scores.attention.clear();
  if (scores_.front().attention.empty()) return;
  attention_.resize(scores.rows());
  for (int row = 0; row < scores.rows(); ++row) {
    const StepScores& first = scores_.front();
    const size_t pieces = first.attention[row].size() / (first.layers * first.heads);
    attention_[row].assign(pieces, 0);
    for (const StepScores& member : scores_) member.add_mean_attention(row, attention_[row]);
    for (float& weight : attention_[row]) weight /= static_cast<float>(members_.size());
    scores.attention.emplace_back(attention_[row]);
  }
  scores.layers = scores.heads = scores.last_layer_heads = 1;
}

void Ensemble::add(int sentence, std::span<const int> source) {
  for (const auto& member : members_) member->add(sentence, source);
}

void Ensemble::release(int sentence) {
  for (const auto& member : members_) member->release(sentence);
}

}  // namespace filigree::translate
