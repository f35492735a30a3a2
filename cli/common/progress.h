// A progress bar on a terminal.
#pragma once

#include <string>

namespace poprt::cli {

class ProgressBar {
 public:
  // The bar is shown only if stderr is a terminal and `enabled` is set.
  explicit ProgressBar(bool enabled);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Starts a new bar and ends the line of the previous one.
  void begin(std::string title);
  // `done` is in 0..1.
  void update(double done);
  void finish();

  // Callback for poprt_compile_options; user_data is the bar.
  static void callback(double done, const char* what, void* user_data);

 private:
  bool enabled_;
  int shown_ = -1;
  std::string title_;
};

}  // namespace poprt::cli
