// Sentences that wait for a thread to translate them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "filigree/translate/search.h"

namespace filigree::translate {

/// A sentence to translate and what holds for its translation.
struct SourceSentence {
  std::span<const int> ids;  ///< without <s> and </s>
  Constraints constraints;
  uint64_t key = 0;  ///< see SentenceToSearch
};

struct SentenceJob {
  SourceSentence sentence;  ///< its ids must stay where they are until `done` is called
  /// Takes the n-best hypotheses, on the thread that found them.
  std::function<void(std::vector<Hypothesis>)> done;
};

class SentenceQueue {
 public:
  void push(SentenceJob job);
  /// Nothing more will be pushed.
  void close();
  /// Drops what waits, as after a failure: nobody gets another job.
  void stop();

  /// The first job, if its source has at most `most_pieces`. Without one: nothing or, with `wait`,
  /// the job that comes next. Nothing, too, when the queue is closed and empty.
  std::optional<SentenceJob> take(int64_t most_pieces, bool wait);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<SentenceJob> jobs_;
  bool closed_ = false;
};

}  // namespace filigree::translate
