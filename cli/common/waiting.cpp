#include "common/waiting.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "common/standard_streams.h"

namespace poprt::cli {

Waiting::Waiting(std::string title) : title_(std::move(title)) {
  if (isatty(STDERR_FILENO)) thread_ = std::thread([this] { show(); });
}

Waiting::~Waiting() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Waiting::show() {
  constexpr std::chrono::seconds kSilent(2), kStep(1);
  const auto begin = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  if (ended_.wait_for(lock, kSilent, [this] { return done_; })) return;
  do {
    const auto passed =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
    print_error("\r{}: {} s", title_, passed.count());
    std::fflush(stderr);
  } while (!ended_.wait_for(lock, kStep, [this] { return done_; }));
  print_error("\n");
}

}  // namespace poprt::cli
