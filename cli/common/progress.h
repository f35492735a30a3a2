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

  // Ends the line of the bar before.
  void begin(std::string title);
  // `done` in 0..1.
  void update(double done);
  void finish();

  // For poprt_compile_options; user_data is the bar.
  static void callback(double done, const char* what, void* user_data);

 private:
  bool enabled_;
  int shown_ = -1;
  std::string title_;
};

}  // namespace poprt::cli
