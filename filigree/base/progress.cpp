#include "filigree/base/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace filigree {
namespace {

constexpr int kBarWidth = 24;
constexpr double kSecondsBetweenDraws = 0.1;

int terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

double now_seconds() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

std::string format_duration(double seconds) {
  const auto s = static_cast<int64_t>(std::max(0.0, seconds) + 0.5);
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{}h{:02}m", s / 3600, s % 3600 / 60);
  return fmt::format("{}d{:02}h", s / 86400, s % 86400 / 3600);
}

std::string format_count(int64_t number) {
  if (number < 1000) return std::to_string(number);
  return fmt::format("{},{:03}", format_count(number / 1000), number % 1000);
}

bool ProgressBar::on_terminal() { return isatty(STDERR_FILENO) == 1; }

ProgressBar::ProgressBar(int64_t total, int64_t done)
    : total_(total), done_before_(done), started_(now_seconds()) {}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::update(int64_t done, const std::string& text) {
  const double now = now_seconds();
  if (!on_terminal() || now - last_drawn_ < kSecondsBetweenDraws) return;
  last_drawn_ = now;
  std::string line;
  if (total_ > 0) {
    const double share =
        std::clamp(static_cast<double>(done) / static_cast<double>(total_), 0.0, 1.0);
    const int filled = static_cast<int>(share * kBarWidth);
    for (int i = 0; i < kBarWidth; ++i) line += i < filled ? "█" : "░";
    line += fmt::format(" {:3.0f} % {}", 100 * share, text);
    if (done > done_before_) {
      const double rate = static_cast<double>(done - done_before_) / (now - started_);
      line += fmt::format("  {} left", format_duration(static_cast<double>(total_ - done) / rate));
    }
  } else {
    line = text;
  }
  // The bar's characters take three bytes each, hence the allowance when cutting to the width.
  const size_t limit =
      static_cast<size_t>(std::max(20, terminal_width() - 1)) + (total_ > 0 ? 2 * kBarWidth : 0);
  if (line.size() > limit) line.resize(limit);
  fmt::print(stderr, "\r\033[K{}", line);
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressBar::clear() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  drawn_ = false;
  last_drawn_ = 0;
}

}  // namespace filigree
