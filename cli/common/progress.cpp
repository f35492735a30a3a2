#include "common/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "common/standard_streams.h"

namespace poprt::cli {

ProgressBar::ProgressBar(bool enabled) : enabled_(enabled && isatty(STDERR_FILENO)) {}

ProgressBar::~ProgressBar() { finish(); }

void ProgressBar::begin(std::string title) {
  finish();
  title_ = std::move(title);
}

void ProgressBar::update(double done) {
  const int percent = static_cast<int>(done * 100 + 0.5);
  if (!enabled_ || percent == shown_) return;
  shown_ = percent;
  constexpr int kWidth = 40;
  const std::string bar(static_cast<size_t>(percent * kWidth / 100), '#');
  print_error("\r{}: {:3d}%|{:<{}}|", title_, percent, bar, kWidth);
  std::fflush(stderr);
}

void ProgressBar::finish() {
  if (shown_ >= 0) print_error("\n");
  shown_ = -1;
}

void ProgressBar::callback(double done, const char*, void* user_data) {
  static_cast<ProgressBar*>(user_data)->update(done);
}

}  // namespace poprt::cli
