#include "filigree/translate/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace filigree::translate {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

}  // namespace

bool better(const Candidate& a, const Candidate& b) {
  if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
  return std::tie(a.row, a.token) < std::tie(b.row, b.token);
}

double TopCandidates::worst_kept() const {
  return heap_.size() < capacity_ ? kMinusInfinity : heap_.front().log_probability;
}

void TopCandidates::offer(const Candidate& candidate) {
  if (capacity_ == 0 || !(candidate.log_probability > kMinusInfinity)) return;
  if (heap_.size() == capacity_) {
    if (!better(candidate, heap_.front())) return;
    std::pop_heap(heap_.begin(), heap_.end(), better);
    heap_.pop_back();
  }
  heap_.push_back(candidate);
  std::push_heap(heap_.begin(), heap_.end(), better);
}

void TopCandidates::offer_row(int row, double log_probability, StepScores& scores, int scores_row) {
  const double base = log_probability - scores.log_normaliser(scores_row);
  const float* const values = scores.values(scores_row);
  const float* const maxima = scores.block_maxima(scores_row);
  // The least value that may pass, rounded down: offer() decides, in double precision. A finite
  // one, so that probabilities of zero never do.
  const auto bar_now = [&] {
    const auto bar = static_cast<float>(worst_kept() - base);
    return std::max(std::nextafter(bar, kMinusInfinity), std::numeric_limits<float>::lowest());
  };
  float bar = bar_now();
  for (int block = 0; block < scores.blocks(); ++block) {
    if (maxima[block] < bar) continue;
    const int begin = block * StepScores::kBlock;
    const int end = std::min(begin + StepScores::kBlock, scores.vocabulary());
    for (int token = begin; token < end; ++token) {
      if (values[token] >= bar) {
        offer({log_probability + scores.log_probability(scores_row, token), row, token});
      }
    }
    bar = bar_now();
  }
}

std::vector<Candidate> TopCandidates::take() {
  std::vector<Candidate> best = std::exchange(heap_, {});
  std::sort(best.begin(), best.end(), better);
  return best;
}

}  // namespace filigree::translate
