// A progress bar on a terminal; nothing in a pipe.
#pragma once

#include <string>

namespace poprt::cli {

class ProgressBar {
 public:
  // Shows only when stderr is a terminal and `enabled`.
  explicit ProgressBar(bool enabled);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // `done` in 0..1; a new `what` begins a new line.
  void update(double done, const std::string& what);
  void finish();

  // For poprt_compile_options; user_data is the bar.
  static void callback(double done, const char* what, void* user_data);

 private:
  bool enabled_;
  int shown_ = -1;
  std::string what_;
};

}  // namespace poprt::cli
