// A sink of spdlog that a forked child can use.
#pragma once

#include <spdlog/formatter.h>
#include <spdlog/sinks/sink.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/fork_mutex.h"

namespace poprt {

// Adds a ForkMutex to a sink that has no lock. The sinks of spdlog that have a lock use a
// std::mutex, for which a child waits forever if another thread of the parent wrote a line during
// the fork.
class ForkSink final : public spdlog::sinks::sink {
 public:
  using MakeFormatter = std::function<std::unique_ptr<spdlog::formatter>()>;

  // `without_time` makes the formatter of a child that was forked while another thread of the
  // parent wrote a line: the conversion to local time has a lock of the C library, which that
  // thread may have.
  ForkSink(std::unique_ptr<spdlog::sinks::sink> to, MakeFormatter without_time)
      : to_(std::move(to)), without_time_(std::move(without_time)) {}

  void log(const spdlog::details::log_msg& message) override {
    const std::lock_guard lock(mutex_);
    if (mutex_.abandoned() && without_time_) to_->set_formatter(std::exchange(without_time_, {})());
    to_->log(message);
  }
  void flush() override {
    const std::lock_guard lock(mutex_);
    to_->flush();
  }
  void set_pattern(const std::string& pattern) override {
    const std::lock_guard lock(mutex_);
    to_->set_pattern(pattern);
  }
  void set_formatter(std::unique_ptr<spdlog::formatter> formatter) override {
    const std::lock_guard lock(mutex_);
    to_->set_formatter(std::move(formatter));
  }

 private:
  ForkMutex mutex_;  // guards the rest
  const std::unique_ptr<spdlog::sinks::sink> to_;
  MakeFormatter without_time_;
};

}  // namespace poprt
