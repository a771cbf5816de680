// Progress of long work on standard error: one line redrawn on a terminal, nothing elsewhere (logs
// carry plain lines there).
#pragma once

#include <cstdint>
#include <string>

namespace filigree {

class ProgressBar {
 public:
  /// total: the amount of work, or 0 when it is not known; done: how much of it an earlier run has
  /// done. Draws only when standard error is a terminal.
  explicit ProgressBar(int64_t total, int64_t done = 0);
  ~ProgressBar();

  /// Redraws at most ten times a second: a bar, the share done, `text`, and the time left.
  void update(int64_t done, const std::string& text);
  /// Removes the line, so that a log line can be printed; the next update draws it again.
  void clear();
  static bool on_terminal();

 private:
  int64_t total_, done_before_;
  double started_, last_drawn_ = 0;
  bool drawn_ = false;
};

/// Seconds as "12s", "3m05s", "2h07m" or "4d03h".
std::string format_duration(double seconds);

/// 2349616 as "2,349,616"; the number is not negative.
std::string format_count(int64_t number);

/// Seconds of a clock that never goes back.
double now_seconds();

}  // namespace filigree
