#include "filigree/translate/sentence_samples.h"

#include <limits>
#include <numeric>
#include <utility>

#include "filigree/base/random.h"

namespace filigree::translate {

SentenceSamples::SentenceSamples(TokenRules rules, int source_length, const SearchOptions& options,
                                 const TargetVocabulary& vocabulary, uint64_t key)
    : SentenceSearch(std::move(rules), source_length, options, vocabulary),
      key_(combine(options.seed, key)),
      results_(options.n_best),
      unfinished_(options.n_best) {
  std::iota(unfinished_.begin(), unfinished_.end(), 0);
}

int SentenceSamples::reserved_rows() const { return static_cast<int>(unfinished_.size()); }

std::vector<SentenceSearch::Continued> SentenceSamples::advance(StepScores& scores) {
  std::vector<Continued> next;
  std::vector<int> still_unfinished;
  for (size_t i = 0; i < unfinished_.size(); ++i) {
    const int sample = unfinished_[i], parent = length() == 0 ? 0 : static_cast<int>(i);
    const int token = draw(parent, sample, scores);
    if (token < 0) {
      results_[sample] = finished(live()[parent], false);
      continue;
    }
    LiveHypothesis hypothesis = extended(parent, token, scores);
    if (token == vocabulary().end) {
      results_[sample] = finished(std::move(hypothesis), true);
    } else {
      next.push_back({std::move(hypothesis), parent});
      still_unfinished.push_back(sample);
    }
  }
  unfinished_ = std::move(still_unfinished);
  return next;
}

/// The token that follows, or −1 when none may.
int SentenceSamples::draw(int live, int sample, StepScores& scores) const {
  const TokenRules::Next next = rules().next(this->live()[live].so_far.tokens);
  float* const values = scores.values(row(live));
  const double uniform = Random(combine(combine(key_, sample), length())).uniform();
  if (!next.only) {
    for (const int token : next.forbidden) values[token] = -std::numeric_limits<float>::infinity();
    return sample_token({values, static_cast<size_t>(vocabulary().size)}, options().token_sampling,
                        uniform);
  }
  std::vector<float> choices;
  for (const int token : *next.only) choices.push_back(values[token]);
  const int drawn = sample_token(choices, options().token_sampling, uniform);
  if (drawn >= 0) return (*next.only)[drawn];
  return next.even_if_impossible && !choices.empty() ? next.only->front() : -1;
}

}  // namespace filigree::translate
