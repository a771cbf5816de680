#include "filigree/translate/line_window.h"

#include <utility>

namespace filigree::translate {

std::optional<int64_t> LineWindow::begin() {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return stopped_ || lines_.size() < most_; });
  if (stopped_) return std::nullopt;
  lines_.emplace_back();
  return first_ + static_cast<int64_t>(lines_.size()) - 1;
}

void LineWindow::finish(int64_t line, Translation translation) {
  const std::lock_guard lock(mutex_);
  lines_[static_cast<size_t>(line - first_)] = std::move(translation);
  while (!stopped_ && !lines_.empty() && lines_.front()) {
    stopped_ = true;  // and it stays so when deliver_() throws
    deliver_(std::move(*lines_.front()));
    stopped_ = false;
    lines_.pop_front();
    ++first_;
  }
  room_.notify_all();
}

void LineWindow::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  room_.notify_all();
}

}  // namespace filigree::translate
