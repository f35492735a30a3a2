// Many clients, random sizes, timeouts, cancellations, stops and device errors: every request must
// be answered exactly once.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "runtime/runner/model_runner.h"
#include "support/function_device.h"

namespace poprt::testing {

struct SoakOptions {
  uint64_t requests = 100'000;
  int threads = 8;
  unsigned seed = 1;
  uint64_t requests_per_runner = 20'000;  // then it is stopped, or dropped, and a new one made
  uint32_t faults_per_million = 500;      // of device runs
};

struct SoakResult {
  std::atomic<uint64_t> ok{0}, failed{0}, cancelled{0}, timed_out{0}, refused{0}, wrong{0};
  std::atomic<uint64_t> runners{0};
  uint64_t answered() const { return ok + failed + cancelled + timed_out + refused; }
};

class RunnerSoak {
 public:
  explicit RunnerSoak(SoakOptions options) : options_(options) {}

  void run() {
    make_runner();
    std::vector<std::thread> clients;
    for (int t = 0; t < options_.threads; t++) clients.emplace_back([this, t] { client(t); });
    for (auto& c : clients) c.join();
    current_.reset();
  }
  const SoakResult& result() const { return result_; }
  uint64_t started() const { return started_; }

 private:
  static constexpr size_t kBatch = 8, kRow = 2, kWindow = 16;

  struct Slot {
    std::vector<float> x = std::vector<float>(3 * kBatch * kRow);
    std::vector<float> y = std::vector<float>(3 * kBatch * kRow);
    size_t rows = 0;
    std::atomic<int> answers{0}, code{-1};
    runtime::RequestPtr request;
    std::shared_ptr<runtime::ModelRunner> runner;
  };

  void make_runner() {
    runtime::RunnerConfig config;
    config.batching_dim = 0;
    config.timeout = std::chrono::microseconds(20);
    config.auto_reset = true;
    config.replication_factor = 2;
    config.overlap_io = result_.runners % 2 == 1;
    config.queue_depth = 96;
    config.faults = std::make_shared<runtime::FaultInjector>();
    config.faults->add_random(options_.seed + result_.runners, options_.faults_per_million,
                              {runtime::DeviceErrorClass::application_runtime_error, {}});
    for (int i = 0; i < 2; i++)
      config.replica_id_to_device[i] = std::make_shared<FunctionDevice>(add_one(kBatch * kRow), i);
    auto made = std::make_shared<runtime::ModelRunner>(model_, std::move(config));
    result_.runners++;
    const std::lock_guard lock(mutex_);
    current_ = std::move(made);
  }

  std::shared_ptr<runtime::ModelRunner> runner() {
    const std::lock_guard lock(mutex_);
    return current_;
  }

  void count(ErrorCode code) {
    switch (code) {
      case ErrorCode::ok: result_.ok++; break;
      case ErrorCode::cancelled: result_.cancelled++; break;
      case ErrorCode::deadline_exceeded: result_.timed_out++; break;
      case ErrorCode::aborted: result_.failed++; break;
      default: result_.wrong++;
    }
  }

  bool right(const Slot& s) const {
    for (size_t i = 0; i < s.rows * kRow; i++)
      if (s.y[i] != s.x[i] + 1) return false;
    return true;
  }

  // Waits for what is in the slot, and checks it.
  void collect(Slot& s) {
    if (!s.request) return;
    if (!s.request->wait(std::chrono::minutes(2))) {
      result_.wrong++;
      std::abort();  // a lost request
    }
    while (s.answers.load() == 0) std::this_thread::yield();  // the callback follows
    if (s.answers != 1 || s.code != static_cast<int>(s.request->code())) result_.wrong++;
    if (s.request->code() == ErrorCode::ok && !right(s)) result_.wrong++;
    count(s.request->code());
    s.request = {};
    s.runner = nullptr;
  }

  void client(int number) {
    std::mt19937 rng(options_.seed * 1000 + static_cast<unsigned>(number));
    std::vector<Slot> slots(kWindow);
    for (size_t turn = 0;; turn++) {
      const uint64_t mine = started_.fetch_add(1);
      if (mine >= options_.requests) break;
      if (mine % options_.requests_per_runner == options_.requests_per_runner - 1) {
        const auto old = runner();
        make_runner();
        if (rng() % 2) old->stop();  // else it goes with its last user
      }
      Slot& s = slots[turn % kWindow];
      collect(s);
      s.rows = 1 + rng() % (3 * kBatch);
      for (size_t i = 0; i < s.rows * kRow; i++) s.x[i] = static_cast<float>(rng() % 4096);
      s.answers = 0;
      s.runner = runner();
      const uint64_t bytes = s.rows * kRow * 4;
      const runtime::InputBinding in[] = {{"x", 0, s.x.data(), bytes}};
      const runtime::OutputBinding out[] = {{"y", 0, s.y.data(), bytes}};
      const unsigned kind = rng() % 16;
      try {
        if (kind == 0) {  // synchronous
          s.runner->execute(in, out);
          if (!right(s)) result_.wrong++;
          count(ErrorCode::ok);
          s.runner = nullptr;
          continue;
        }
        runtime::RequestOptions options;
        if (kind < 3) options.timeout = std::chrono::microseconds(rng() % 200);
        s.request = s.runner->execute_async(in, out,
                                            {[](void* c, ErrorCode code) noexcept {
                                               auto& slot = *static_cast<Slot*>(c);
                                               slot.code = static_cast<int>(code);
                                               slot.answers++;
                                             },
                                             &s},
                                            options);
        if (kind < 6 && kind >= 3) s.request->cancel();
        // What nobody holds on to any more is dropped by the runner's threads too.
        if (kind == 6) collect(s);
      } catch (const Error& e) {
        if (e.code() == ErrorCode::cancelled && kind != 0)
          result_.refused++;
        else
          count(e.code());
        s.runner = nullptr;
      }
    }
    for (Slot& s : slots) collect(s);
  }

  const SoakOptions options_;
  const std::shared_ptr<runtime::Model> model_ = add_one_model({kBatch, kRow});
  std::mutex mutex_;
  std::shared_ptr<runtime::ModelRunner> current_;
  std::atomic<uint64_t> started_{0};
  SoakResult result_;
};

}  // namespace poprt::testing
