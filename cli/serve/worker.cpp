#include "serve/worker.h"

#include <utility>

namespace poprt::serve {

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Worker::add(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void Worker::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return end_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace poprt::serve
