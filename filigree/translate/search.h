// Search over any function that scores next tokens: it knows no model and no tensor.
//
// Beam search: every step keeps the best `beam_size` continuations of a sentence. A hypothesis that
// ends leaves the beam, which shrinks by one; the search of a sentence is over when the beam is
// empty or when nothing left in it can reach the n-best list. With a beam of 1 this is greedy
// search; with a beam as large as the number of possible outputs it is exhaustive. Sampling draws
// outputs instead.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "filigree/translate/hypothesis.h"
#include "filigree/translate/search_options.h"
#include "filigree/translate/step_function.h"

namespace filigree::translate {

/// A sentence as a search sees it.
struct SentenceToSearch {
  int source_length = 0;  ///< pieces, without </s>
  Constraints constraints;
  uint64_t key = 0;  ///< with sampling: what its draws depend on, besides SearchOptions::seed
};

class SentenceSearch;

/// The search of many sentences at once, each at a position of its own: sentences are added at any
/// step and leave as soon as they are over.
class BeamSearch {
 public:
  /// Throws UsageError when an option is out of range. `step` must outlive the search.
  BeamSearch(StepFunction& step, const SearchOptions& options);
  BeamSearch(const BeamSearch&) = delete;
  BeamSearch& operator=(const BeamSearch&) = delete;
  ~BeamSearch();

  /// A sentence that begins with the next step; its number must be above those added before.
  void add(int sentence, SentenceToSearch what);
  /// Rows that the sentences in work can have in a step, at most.
  int reserved_rows() const;
  bool empty() const;

  struct Finished {
    int sentence;
    /// The n-best hypotheses, best first. There is at least one; fewer than n_best when fewer have
    /// a probability above zero. Equal scores are ordered by the better-scored (or earlier) parent,
    /// then by the lower token id, so that results do not depend on luck. With sampling: n_best
    /// samples, in the order of their numbers.
    std::vector<Hypothesis> n_best;
  };
  /// One more token for every hypothesis of every sentence. Returns the sentences that are over
  /// now, in ascending order. Throws Error when the step function returns NaN.
  std::vector<Finished> step();

 private:
  StepFunction& step_;
  SearchOptions options_;
  TargetVocabulary vocabulary_;
  /// With their numbers.
  std::vector<std::pair<int, std::unique_ptr<SentenceSearch>>> sentences_;
  std::vector<SearchRow> rows_;
  StepScores scores_;
};

/// The n-best hypotheses of every sentence, searched all at once; see BeamSearch.
std::vector<std::vector<Hypothesis>> beam_search(StepFunction& step,
                                                 std::vector<SentenceToSearch> sentences,
                                                 const SearchOptions& options);

}  // namespace filigree::translate
