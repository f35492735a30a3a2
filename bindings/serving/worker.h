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
  // Waits until all tasks are done. If a task destroys the object, the destructor does not wait:
  // the thread does the remaining tasks and then ends.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Calls the task on the thread, after earlier tasks. The task must not throw. Thread-safe.
  void add(std::function<void()> task);

 private:
  struct State;
  static void run(State& state);

  const std::shared_ptr<State> state_;  // shared with the thread
  std::thread thread_;
};

}  // namespace poprt::serving
