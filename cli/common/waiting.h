// Shows on a terminal that a long step is running.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace poprt::cli {

// For steps that do not report their progress, such as checks of checksums. If the step takes more
// than two seconds, a line with its name and the passed seconds is shown on stderr until the object
// is destroyed. Nothing is shown if stderr is not a terminal.
class Waiting {
 public:
  explicit Waiting(std::string title);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  void show();

  std::string title_;
  std::mutex mutex_;
  std::condition_variable ended_;  // pairs with done_
  bool done_ = false;
  std::thread thread_;
};

}  // namespace poprt::cli
