// Translations that are found in any order, handed on in the order of their lines.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "filigree/translate/translator.h"

namespace filigree::translate {

class LineWindow {
 public:
  /// most: lines in work at a time, which bounds the memory. deliver: is called in order, by one
  /// thread at a time, whichever finishes a line.
  LineWindow(size_t most, std::function<void(Translation)> deliver)
      : most_(most), deliver_(std::move(deliver)) {}

  /// Begins the next line, when there is room; returns its number, from 0, or nothing after stop().
  std::optional<int64_t> begin();
  /// Delivers the line as soon as all lines before it are. Throws what `deliver` does.
  void finish(int64_t line, Translation translation);
  /// After a failure: begin() waits no longer, and nothing more is delivered.
  void stop();

 private:
  const size_t most_;
  const std::function<void(Translation)> deliver_;
  std::mutex mutex_;
  std::condition_variable room_;
  int64_t first_ = 0;                             ///< number of the first line in work
  std::deque<std::optional<Translation>> lines_;  ///< in work, from the first on
  bool stopped_ = false;
};

}  // namespace filigree::translate
