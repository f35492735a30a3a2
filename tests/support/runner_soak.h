// A test of runners under load, with many clients, random sizes, timeouts, cancellations, stops and
// device errors. Every request must be answered exactly once.
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
#include "runtime/runner/model_fusion_runner.h"
#include "runtime/runner/model_runner.h"
#include "runtime/runner/pack_runner.h"
#include "runtime/session/variants.h"
#include "support/function_device.h"
#include "support/shard_chain.h"

namespace poprt::test {

enum class SoakKind {
  batched,          // rows of several requests share a batch, on two replicas
  fused,            // two models in one; a request names one of them
  packed,           // sequences of many lengths in one batch
  pipelined,        // three IPUs, each with a stage, and two replicas of them
  fused_pipelined,  // two fused models on several IPUs, with three and two stages; two replicas
};

struct SoakOptions {
  SoakKind kind = SoakKind::batched;
  uint64_t requests = 100'000;
  int threads = 8;
  unsigned seed = 1;
  uint64_t requests_per_runner = 20'000;  // after them, a new runner replaces it
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

  // The anchors that a request may name; each output is the input plus `adds`.
  struct Graph {
    std::string input;
    std::vector<std::string> outputs;
    float adds = 0;
  };

  struct Slot {
    std::vector<float> x = std::vector<float>(3 * kBatch * kRow);
    std::vector<std::vector<float>> y = std::vector<std::vector<float>>(2, x);
    size_t count = 0;  // of floats
    const Graph* graph = nullptr;
    std::atomic<int> answers{0}, code{-1};
    runtime::RequestPtr request;
    std::shared_ptr<runtime::BaseRunner> runner;
  };

  static std::vector<Graph> graphs_of(SoakKind kind) {
    switch (kind) {
      case SoakKind::fused: return {{"graph0/x", {"graph0/y"}, 1}, {"graph1/x", {"graph1/y"}, 2}};
      case SoakKind::pipelined: return {{"x", {"y", "z"}, 0}};
      case SoakKind::fused_pipelined:
        return {{"graph0/x", {"graph0/y", "graph0/z"}, 0},
                {"graph1/x", {"graph1/y", "graph1/z"}, 0}};
      default: return {{"x", {"y"}, 1}};
    }
  }

  static std::shared_ptr<const runtime::Model> model_of(SoakKind kind) {
    const Shape shape{kBatch, kRow};
    switch (kind) {
      case SoakKind::fused:
        return anchors_only({{"index", DType::u32, {1}},
                             {"graph0/x", DType::f32, shape},
                             {"graph1/x", DType::f32, shape}},
                            {{"graph0/y", DType::f32, shape}, {"graph1/y", DType::f32, shape}});
      case SoakKind::pipelined: return shard_chain(3, true, shape);
      case SoakKind::fused_pipelined:
        return runtime::fuse_models(
            std::vector{shard_chain(3, true, shape), shard_chain(2, true, shape)});
      default: return add_one_model(shape);
    }
  }

  // Computes the output of the graph that the index selects.
  static void add_to_chosen(const void* const* in, void* const* out) {
    const uint32_t index = *static_cast<const uint32_t*>(in[0]);
    const auto* x = static_cast<const float*>(in[1 + index]);
    auto* y = static_cast<float*>(out[index]);
    for (size_t i = 0; i < kBatch * kRow; i++) y[i] = x[i] + 1 + static_cast<float>(index);
  }

  std::shared_ptr<runtime::BaseRunner> new_runner(runtime::RunnerConfig config) const {
    const DeviceFunction function =
        options_.kind == SoakKind::fused ? add_to_chosen : add_one(kBatch * kRow);
    const bool own_devices =
        options_.kind != SoakKind::pipelined && options_.kind != SoakKind::fused_pipelined;
    config.replication_factor = replicas();
    for (int i = 0; own_devices && i < config.replication_factor; i++)
      config.replica_id_to_device[i] = std::make_shared<FunctionDevice>(function, i);
    if (is_fused()) return std::make_shared<runtime::ModelFusionRunner>(model_, std::move(config));
    if (options_.kind == SoakKind::packed) {
      runtime::PackRunnerConfig pack;
      pack.timeout = std::chrono::microseconds(20);
      pack.dynamic_input_name = "x";
      pack.enable_prefetch_datastreams = config.overlap_io;
      pack.runner = std::move(config);
      return std::make_shared<runtime::PackRunner>(model_, std::move(pack));
    }
    config.batching_dim = 0;
    config.timeout = std::chrono::microseconds(20);
    return std::make_shared<runtime::ModelRunner>(model_, std::move(config));
  }

  bool is_fused() const {
    return options_.kind == SoakKind::fused || options_.kind == SoakKind::fused_pipelined;
  }
  int replicas() const { return options_.kind == SoakKind::packed ? 1 : 2; }

  void make_runner() {
    runtime::RunnerConfig config;
    config.auto_reset = true;
    config.overlap_io = result_.runners % 2 == 1;
    config.queue_depth = 96;
    config.faults = std::make_shared<runtime::FaultInjector>();
    config.faults->add_random(options_.seed + result_.runners, options_.faults_per_million,
                              {runtime::DeviceErrorClass::application_runtime_error, {}});
    auto made = new_runner(std::move(config));
    result_.runners++;
    const std::lock_guard lock(mutex_);
    current_ = std::move(made);
  }

  // Returns the number of floats of the next request.
  size_t random_count(std::mt19937& rng) const {
    switch (options_.kind) {
      case SoakKind::fused:
      case SoakKind::fused_pipelined: return kBatch * kRow;
      case SoakKind::packed: return 1 + rng() % (kBatch * kRow);
      default: return (1 + rng() % (3 * kBatch)) * kRow;
    }
  }

  std::shared_ptr<runtime::BaseRunner> runner() {
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

  static bool right(const Slot& s) {
    for (size_t o = 0; o < s.graph->outputs.size(); o++)
      for (size_t i = 0; i < s.count; i++)
        if (s.y[o][i] != s.x[i] + s.graph->adds) return false;
    return true;
  }

  // Waits for the request in the slot and checks its results.
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
        if (rng() % 2) old->stop();  // else its last request destroys it
      }
      Slot& s = slots[turn % kWindow];
      collect(s);
      s.graph = &graphs_[rng() % graphs_.size()];
      s.count = random_count(rng);
      for (size_t i = 0; i < s.count; i++) s.x[i] = static_cast<float>(rng() % 4096);
      s.answers = 0;
      s.runner = runner();
      const uint64_t bytes = s.count * 4;
      const runtime::InputBinding in[] = {{s.graph->input, 0, s.x.data(), bytes}};
      std::vector<runtime::OutputBinding> out;
      for (size_t o = 0; o < s.graph->outputs.size(); o++)
        out.push_back({s.graph->outputs[o], o, s.y[o].data(), bytes});
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
        if (kind > 12 && replicas() > 1) options.replica = rng() % 2;
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
        // Drops the request when it ends, so that a thread of the runner may drop the last
        // reference.
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
  const std::shared_ptr<const runtime::Model> model_ = model_of(options_.kind);
  const std::vector<Graph> graphs_ = graphs_of(options_.kind);
  std::mutex mutex_;
  std::shared_ptr<runtime::BaseRunner> current_;
  std::atomic<uint64_t> started_{0};
  SoakResult result_;
};

}  // namespace poprt::test
