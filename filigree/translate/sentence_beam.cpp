#include "filigree/translate/sentence_beam.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace filigree::translate {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

/// More than any log-probability: a token of probability zero is worse than all others together.
constexpr double kImpossible = 1e6;

/// What hypotheses of the same length are compared by.
double rank(const LiveHypothesis& hypothesis) {
  const Hypothesis& so_far = hypothesis.so_far;
  return so_far.log_probability + so_far.penalties - kImpossible * so_far.impossible;
}

bool contains(const std::vector<int>& tokens, int token) {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

}  // namespace

int SentenceBeam::reserved_rows() const {
  return options().beam_size - static_cast<int>(finished_.size());
}

std::vector<Hypothesis> SentenceBeam::take_results() {
  if (finished_.empty()) finished_ = std::move(stranded_);
  std::stable_sort(finished_.begin(), finished_.end(), scores_better);
  const auto wanted = static_cast<size_t>(options().n_best);
  if (finished_.size() > wanted) finished_.resize(wanted);
  return std::move(finished_);
}

/// The best candidates become the new beam; those that end become results.
std::vector<SentenceSearch::Continued> SentenceBeam::advance(StepScores& scores) {
  CandidateBanks banks(reserved_rows());
  const auto count = static_cast<int>(live().size());
  for (int i = 0; i < count; ++i) offer_continuations(i, scores, banks);
  const std::vector<Candidate> candidates = banks.take();

  std::vector<Continued> next;
  for (const Candidate& candidate : candidates) {
    LiveHypothesis hypothesis = extended(candidate.row, candidate.token, scores);
    if (candidate.token == vocabulary().end) {
      finished_.push_back(finished(std::move(hypothesis), true));
    } else {
      next.push_back({std::move(hypothesis), candidate.row});
    }
  }
  if (candidates.empty()) {
    // Nothing may follow any of them: what there is must do if nothing has finished.
    for (const LiveHypothesis& hypothesis : live()) {
      stranded_.push_back(finished(hypothesis, false));
    }
  }
  if (nothing_can_win(next)) next.clear();
  return next;
}

void SentenceBeam::offer_continuations(int i, StepScores& scores, CandidateBanks& banks) const {
  const LiveHypothesis& hypothesis = live()[i];
  const RequiredPhrases& required = rules().required();
  const RequiredPhrases::Progress progress = required.progress(hypothesis.so_far.tokens);
  const TokenRules::Next next = rules().next(hypothesis.so_far.tokens);
  const auto offer = [&](int token, int tokens_needed, bool even_if_impossible) {
    const double log_probability = scores.log_probability(row(i), token);
    const bool possible = !std::isinf(log_probability);
    if (!possible && !even_if_impossible) return false;
    const double sum = rank(hypothesis) + (possible ? log_probability : -kImpossible);
    banks.bank(tokens_needed).offer({sum, i, token});
    return true;
  };

  if (next.only) {
    bool any = false;
    for (const int token : *next.only) {
      any |= offer(token, required.tokens_needed(required.after(progress, token)), false);
    }
    if (!any && next.even_if_impossible && !next.only->empty()) {
      const int token = next.only->front();
      offer(token, required.tokens_needed(required.after(progress, token)), true);
    }
    return;
  }

  // No hypothesis may come to need more tokens than the longest output has room for, so that one
  // that meets the requirements is always within reach.
  const int room = rules().max_length() - length() - 1;
  float* const values = scores.values(row(i));
  std::vector<std::pair<int, float>> set_aside;
  for (const int token : required.next_tokens(progress)) {
    if (contains(next.forbidden, token)) continue;
    const int needed = required.tokens_needed(required.after(progress, token));
    if (needed <= room) offer(token, needed, true);
    set_aside.emplace_back(token, std::exchange(values[token], kMinusInfinity));
  }
  for (const int token : next.forbidden) values[token] = kMinusInfinity;
  const int needed = required.tokens_needed_from_scratch(progress);
  if (needed <= room) banks.bank(needed).offer_row(i, rank(hypothesis), scores, row(i));
  for (const auto& [token, value] : set_aside) values[token] = value;
}

/// A log-probability and the repetition penalty's part of it only fall with every token, and the
/// coverage penalty takes away, so that a live hypothesis scores at most what it has now for the
/// length that suits it best: the shortest, the longest, or where (sum − W·length) / length^A has
/// no slope.
bool SentenceBeam::nothing_can_win(const std::vector<Continued>& next) const {
  const auto wanted = static_cast<size_t>(options().n_best);
  if (finished_.size() < wanted) return false;
  std::vector<Hypothesis> best(wanted);
  std::partial_sort_copy(finished_.begin(), finished_.end(), best.begin(), best.end(),
                         scores_better);
  const double shortest = std::max(length() + 1, rules().min_length()) + 1;
  const double longest = std::max(shortest, rules().max_length() + 1.0);
  const double a = options().length_penalty, w = options().word_penalty;
  return std::none_of(next.begin(), next.end(), [&](const Continued& continued) {
    Hypothesis bound;
    const Hypothesis& so_far = continued.hypothesis.so_far;
    bound.impossible = so_far.impossible;
    const double sum = so_far.log_probability + so_far.penalties;
    const double level = w == 0 || a == 1 ? shortest : -a * sum / (w * (1 - a));
    for (const double length : {shortest, longest, std::clamp(level, shortest, longest)}) {
      bound.score = (sum - w * length) / std::pow(length, a);
      if (scores_better(bound, best.back())) return true;
    }
    return false;
  });
}

}  // namespace filigree::translate
