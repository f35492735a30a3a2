// Work on another thread, with progress and cancellation. Drawing never waits for it, nor for the
// end of cancelled work.
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
#include <vector>

#include "base/error.h"

namespace poprt::inspector {

// The state of the work. Any thread may read it.
class Progress {
 public:
  std::atomic<bool> cancel{false};

  // Throws Error(cancelled) if the task was cancelled.
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

// Called by the worker thread after the work has ended, to request a new frame. May be empty.
using Wake = std::function<void()>;

// Threads of cancelled tasks. Each ends at the next check of `cancel`. They are joined when they
// have ended, and at the latest at the end of the program.
class AbandonedThreads {
 public:
  static AbandonedThreads& instance() {
    static AbandonedThreads threads;
    return threads;
  }
  ~AbandonedThreads() { join(); }
  AbandonedThreads(const AbandonedThreads&) = delete;
  AbandonedThreads& operator=(const AbandonedThreads&) = delete;

  // Setting `done` is the last access of the thread to its result.
  void add(std::thread thread, std::shared_ptr<const std::atomic<bool>> done) {
    const std::lock_guard lock(mutex_);
    std::erase_if(threads_, [](Thread& t) {
      if (!t.done->load(std::memory_order_acquire)) return false;
      t.thread.join();
      return true;
    });
    threads_.push_back({std::move(thread), std::move(done)});
  }
  // Waits for all threads.
  void join() {
    const std::lock_guard lock(mutex_);
    for (Thread& t : threads_) t.thread.join();
    threads_.clear();
  }
  size_t count() {
    const std::lock_guard lock(mutex_);
    return threads_.size();
  }

 private:
  AbandonedThreads() = default;
  struct Thread {
    std::thread thread;
    std::shared_ptr<const std::atomic<bool>> done;
  };
  std::mutex mutex_;
  std::vector<Thread> threads_;
};

// The work must own all data that it uses, because it may continue after the task is destroyed.
template <class T>
class Task {
 public:
  using Work = std::function<T(Progress&)>;

  Task() = default;
  // Starts the work. If a thread cannot be created, the task ends with an error.
  explicit Task(Work work, Wake wake = {}) : shared_(std::make_shared<Shared>()) {
    shared_->wake = std::move(wake);
    try {
      thread_ = std::thread([shared = shared_, work = std::move(work)]() mutable {
        try {
          shared->result.emplace(work(shared->progress));
        } catch (const std::exception& e) {
          shared->error = e.what();
        }
        work = {};
        shared->done.store(true, std::memory_order_release);
        const std::lock_guard lock(shared->wake_mutex);
        if (shared->wake) shared->wake();
      });
    } catch (const std::system_error& e) {
      shared_->error = fmt::format("cannot start a thread: {}", e.what());
      shared_->done.store(true, std::memory_order_release);
    }
  }
  // Cancels the work without waiting for it, unless it has ended. `wake` is not called any more.
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

  // Returns the result once. Returns nullopt while the work runs and if it failed; error() then has
  // the reason.
  std::optional<T> take() {
    if (!shared_ || running()) return std::nullopt;
    if (thread_.joinable()) thread_.join();
    return std::exchange(shared_->result, std::nullopt);
  }
  // Empty unless the work failed.
  std::string error() const { return running() || !shared_ ? std::string() : shared_->error; }
  // Waits until the work has ended.
  void wait() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  struct Shared {
    Progress progress;
    std::optional<T> result;
    std::string error;
    // Stored with release order after result and error; pairs with the acquire in running().
    std::atomic<bool> done{false};
    std::mutex wake_mutex;
    Wake wake;
  };
  void stop() {
    cancel();
    if (running()) {
      {
        const std::lock_guard lock(shared_->wake_mutex);
        shared_->wake = {};
      }
      AbandonedThreads::instance().add(std::move(thread_), {shared_, &shared_->done});
    }
    wait();
    shared_.reset();
  }

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace poprt::inspector
