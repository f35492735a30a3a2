#include "common/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace poprt::cli {

ProgressBar::ProgressBar(bool enabled) : enabled_(enabled && isatty(STDERR_FILENO)) {}

ProgressBar::~ProgressBar() { finish(); }

void ProgressBar::update(double done, const std::string& what) {
  if (!enabled_) return;
  if (what != what_) {
    finish();
    what_ = what;
  }
  const int percent = static_cast<int>(done * 100 + 0.5);
  if (percent == shown_) return;
  shown_ = percent;
  constexpr int kWidth = 40;
  const std::string bar(static_cast<size_t>(percent * kWidth / 100), '#');
  fmt::print(stderr, "\r{}: {:3d}%|{:<{}}|", what_, percent, bar, kWidth);
  std::fflush(stderr);
}

void ProgressBar::finish() {
  if (enabled_ && shown_ >= 0) fmt::print(stderr, "\n");
  shown_ = -1;
  what_.clear();
}

void ProgressBar::callback(double done, const char* what, void* user_data) {
  static_cast<ProgressBar*>(user_data)->update(done, what);
}

}  // namespace poprt::cli
