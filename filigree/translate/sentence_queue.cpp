#include "filigree/translate/sentence_queue.h"

#include <utility>

namespace filigree::translate {

void SentenceQueue::push(SentenceJob job) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
}

void SentenceQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

void SentenceQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    jobs_.clear();
  }
  changed_.notify_all();
}

std::optional<SentenceJob> SentenceQueue::take(int64_t most_pieces, bool wait) {
  std::unique_lock lock(mutex_);
  if (wait) changed_.wait(lock, [this] { return closed_ || !jobs_.empty(); });
  if (jobs_.empty()) return std::nullopt;
  if (static_cast<int64_t>(jobs_.front().sentence.ids.size()) > most_pieces) return std::nullopt;
  SentenceJob job = std::move(jobs_.front());
  jobs_.pop_front();
  return job;
}

}  // namespace filigree::translate
