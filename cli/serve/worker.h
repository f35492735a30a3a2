// One thread for long tasks, such as loading a model or reading much JSON, so that the threads of
// the servers do not wait for them.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace poprt::serve {

class Worker {
 public:
  Worker() : thread_([this] { run(); }) {}
  // Finishes all tasks.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Calls the task on the thread, after earlier ones. It must not throw.
  void add(std::function<void()> task);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;  // guarded by mutex_
  bool end_ = false;                         // guarded by mutex_
  std::thread thread_;
};

}  // namespace poprt::serve
