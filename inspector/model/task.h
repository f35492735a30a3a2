// One piece of work on a thread of its own, with progress and cancel: drawing never waits for it.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"

namespace poprt::inspector {

// What the work gets. Any thread may read it.
class Progress {
 public:
  std::atomic<bool> cancel{false};

  // Throws Error(cancelled) when nobody wants the result any more.
  void step(double done, std::string_view what) {
    if (cancel.load(std::memory_order_relaxed))
      fail(ErrorCode::cancelled, "{} was cancelled", what);
    const std::lock_guard lock(mutex_);
    done_ = done;
    what_ = what;
  }
  std::pair<double, std::string> look() const {
    const std::lock_guard lock(mutex_);
    return {done_, what_};
  }

 private:
  mutable std::mutex mutex_;
  double done_ = 0;
  std::string what_;
};

// Called from the worker when its work has ended, to wake up whoever draws; may be empty.
using Wake = std::function<void()>;

template <class T>
class Task {
 public:
  using Work = std::function<T(Progress&)>;

  Task() = default;
  // Starts at once. Where there can be no more threads, it has ended with an error.
  explicit Task(Work work, Wake wake = {}) : shared_(std::make_shared<Shared>()) {
    try {
      thread_ = std::thread([shared = shared_, work = std::move(work), wake = std::move(wake)] {
        try {
          shared->result.emplace(work(shared->progress));
        } catch (const std::exception& e) {
          shared->error = e.what();
        }
        shared->done.store(true, std::memory_order_release);
        if (wake) wake();
      });
    } catch (const std::system_error& e) {
      shared_->error = fmt::format("cannot start a thread: {}", e.what());
      shared_->done.store(true, std::memory_order_release);
    }
  }
  // Cancels and waits: the work looks at `cancel` often.
  ~Task() { stop(); }
  Task(Task&&) = default;
  Task& operator=(Task&& other) {
    stop();
    shared_ = std::move(other.shared_);
    thread_ = std::move(other.thread_);
    return *this;
  }

  bool started() const { return shared_ != nullptr; }
  bool running() const { return shared_ && !shared_->done.load(std::memory_order_acquire); }
  void cancel() {
    if (shared_) shared_->progress.cancel.store(true, std::memory_order_relaxed);
  }
  std::pair<double, std::string> progress() const { return shared_->progress.look(); }

  // The result, once; nullopt while it runs and when it failed: then error() says why.
  std::optional<T> take() {
    if (!shared_ || running()) return std::nullopt;
    if (thread_.joinable()) thread_.join();
    return std::exchange(shared_->result, std::nullopt);
  }
  // Empty unless it ended without a result.
  std::string error() const { return running() || !shared_ ? std::string() : shared_->error; }
  // Waits for the end.
  void wait() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  struct Shared {
    Progress progress;
    std::optional<T> result;
    std::string error;
    std::atomic<bool> done{false};  // release: result and error are written
  };
  void stop() {
    cancel();
    wait();
    shared_.reset();
  }

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace poprt::inspector
