// One thread for long tasks, such as loading a model or reading much JSON, so that the threads of
// a server do not wait for them.
#pragma once

#include <functional>
#include <memory>
#include <thread>

namespace poprt::serving {

class Worker {
 public:
  Worker();
  // Finishes all tasks. In a task, the thread goes on with the later tasks instead.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Calls the task on the thread, after earlier ones. It must not throw.
  void add(std::function<void()> task);

 private:
  struct State;
  static void run(State& state);

  const std::shared_ptr<State> state_;  // the thread has it as well
  std::thread thread_;
};

}  // namespace poprt::serving
