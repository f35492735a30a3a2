#include "serving/worker.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace poprt::serving {

struct Worker::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;  // guarded by mutex
  bool end = false;                         // guarded by mutex
};

Worker::Worker() : state_(std::make_shared<State>()), thread_([state = state_] { run(*state); }) {}

Worker::~Worker() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->end = true;
  }
  state_->changed.notify_one();
  // A task may own the last reference to the owner of this object, and then destroys it.
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else
    thread_.join();
}

void Worker::add(std::function<void()> task) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->tasks.push_back(std::move(task));
  }
  state_->changed.notify_one();
}

void Worker::run(State& state) {
  std::unique_lock lock(state.mutex);
  while (true) {
    state.changed.wait(lock, [&] { return state.end || !state.tasks.empty(); });
    if (state.tasks.empty()) return;
    std::function<void()> task = std::move(state.tasks.front());
    state.tasks.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // destroys its captures while the mutex is unlocked
    lock.lock();
  }
}

}  // namespace poprt::serving
