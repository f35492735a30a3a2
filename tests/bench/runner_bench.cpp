// Measures the overhead of runners over the engine, for a model that takes about a microsecond.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "device/emulator/emulator.h"
#include "program/builder.h"
#include "runtime/runner/model_runner.h"

namespace {

using namespace poprt;
using namespace poprt::runtime;

constexpr int64_t kRows = 64, kRow = 16;  // 64-byte rows

// y = x, copied through `copies` buffers of the arena.
std::shared_ptr<const Model> copies_model(int copies) {
  program::Builder b;
  const Shape shape{kRows, kRow};
  const uint64_t bytes = kRows * kRow * 4;
  const auto x = b.add_input({"x", DType::f32, shape});
  const auto y = b.add_output({"y", DType::f32, shape});
  program::BufferId from = b.input(x, 0, bytes, DType::f32, shape);
  for (int i = 0; i <= copies; i++) {
    const program::BufferId to =
        i == copies ? b.output(y, 0, bytes, DType::f32, shape)
                    : b.arena(bytes * static_cast<uint64_t>(i % 2), bytes, DType::f32, shape);
    const program::BufferId operands[] = {from, to};
    b.emit("copy", operands, {}, {}, "copy");
    from = to;
  }
  return make_model("copies", {std::make_shared<program::Program>(b.program()), {}, {}});
}

double now() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The minimum and the median of the time per call of all rounds, in nanoseconds.
struct Timing {
  double least, median;
};
Timing measure(int repeats, int calls, const std::function<void(int)>& body) {
  body(calls / 4 + 1);
  std::vector<double> times;
  for (int r = 0; r < repeats; r++) {
    const double start = now();
    body(calls);
    times.push_back((now() - start) / calls);
  }
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2]};
}

struct Client {
  std::vector<float> x = std::vector<float>(kRows * kRow, 1.f), y = x;
  InputBinding in[1];
  OutputBinding out[1];
  RequestPtr request;
  explicit Client(uint64_t rows) {
    in[0] = {"x", 0, x.data(), rows * kRow * 4};
    out[0] = {"y", 0, y.data(), rows * kRow * 4};
  }
};

// Keeps `window` requests in flight from one thread.
void stream(ModelRunner& runner, std::vector<std::unique_ptr<Client>>& clients, int calls) {
  const size_t window = clients.size();
  for (int i = 0; i < calls; i++) {
    Client& c = *clients[static_cast<size_t>(i) % window];
    if (c.request) c.request->wait();
    c.request = runner.execute_async(c.in, c.out);
  }
  for (auto& c : clients)
    if (c->request) c->request->wait();
}

std::vector<std::unique_ptr<Client>> make_clients(size_t n, uint64_t rows) {
  std::vector<std::unique_ptr<Client>> clients;
  for (size_t i = 0; i < n; i++) clients.push_back(std::make_unique<Client>(rows));
  return clients;
}

// A model that takes about a microsecond, served by runners of every kind.
class RunnerBench {
 public:
  explicit RunnerBench(int calls) : calls_(calls) {
    config_.session.load.threads = 1;
    config_.queue_depth = 1024;
  }

  void run() {
    fmt::print("{:<44}{:>10}{:>10}{:>12}{:>14}\n", "", "least ns", "median", "over engine",
               "requests/s");
    engine();
    synchronous();
    in_flight();
    for (const size_t window : {0, 4, 64}) telemetry(window);
    batched();
  }

 private:
  static constexpr int kRepeats = 9;

  void report(std::string_view what, Timing t, double base) {
    fmt::print("{:<44}{:>10.0f}{:>10.0f}{:>12.0f}{:>14.0f}\n", what, t.least, t.median,
               t.least - base, 1e9 / t.least);
    std::fflush(stdout);
  }
  void report(std::string_view what, Timing t) { report(what, t, direct_.least); }

  // Chooses the number of copies that takes a microsecond on this machine.
  void engine() {
    std::unique_ptr<device::Engine> engine;
    for (int copies = 1; copies < 200; copies++) {
      model_ = copies_model(copies);
      device::LoadOptions options;
      options.threads = 1;
      engine = device::EmulatedDevice().load(model_->image, options);
      const auto run = [&](int n) {
        for (int i = 0; i < n; i++) engine->run(device::Flow::main, inputs_, outputs_);
      };
      direct_ = measure(5, 2000, run);
      if (direct_.least < 1000) continue;
      direct_ = measure(kRepeats, calls_, run);
      break;
    }
    report("engine", direct_);
  }

  void synchronous() {
    ModelRunner runner(model_, config_);
    report("execute, by position", measure(kRepeats, calls_, [&](int n) {
             for (int i = 0; i < n; i++) runner.execute(inputs_, outputs_);
           }));
    report("execute, by name", measure(kRepeats, calls_, [&](int n) {
             for (int i = 0; i < n; i++) runner.execute(one_.in, one_.out);
           }));
  }

  void in_flight() {
    for (const bool overlap : {false, true}) {
      RunnerConfig config = config_;
      config.overlap_io = overlap;
      config.ring_buffer_size_multiplier = 4;
      ModelRunner runner(model_, config);
      for (const size_t window : {1, 4, 64}) {
        auto clients = make_clients(window, kRows);
        report(fmt::format("execute_async, {} in flight{}", window, overlap ? ", overlap_io" : ""),
               measure(kRepeats, calls_ / 2, [&](int n) { stream(runner, clients, n); }));
      }
    }
  }

  // Alternates between both runners, so that changes in the load of the machine affect both.
  // `window` is the number of requests in flight, or 0 for synchronous requests.
  void telemetry(size_t window) {
    std::vector<std::unique_ptr<ModelRunner>> runners;
    for (const bool on : {false, true}) {
      RunnerConfig config = config_;
      config.session.telemetry = on;
      runners.push_back(std::make_unique<ModelRunner>(model_, config));
    }
    std::vector<double> times[2];
    auto clients = make_clients(window, kRows);
    for (int r = 0; r < 2 * kRepeats; r++)
      for (size_t on = 0; on < 2; on++) {
        const int n = calls_ / 2;
        const double start = now();
        if (window)
          stream(*runners[on], clients, n);
        else
          for (int i = 0; i < n; i++) runners[on]->execute(inputs_, outputs_);
        for (auto& c : clients) c->request = {};
        if (r > 0) times[on].push_back((now() - start) / n);
      }
    Timing t[2];
    for (size_t on = 0; on < 2; on++) {
      std::sort(times[on].begin(), times[on].end());
      t[on] = {times[on].front(), times[on][times[on].size() / 2]};
      report(fmt::format("{}, telemetry {}",
                         window ? fmt::format("execute_async, {} in flight", window) : "execute",
                         on ? "on" : "off"),
             t[on]);
    }
    fmt::print("  telemetry: {:.0f} ns least, {:.0f} ns median: {:.2f} % and {:.2f} % of 10 us\n",
               t[1].least - t[0].least, t[1].median - t[0].median, (t[1].least - t[0].least) / 100,
               (t[1].median - t[0].median) / 100);
  }

  void batched() {
    RunnerConfig config = config_;
    config.batching_dim = 0;
    config.timeout = std::chrono::microseconds(50);
    ModelRunner runner(model_, config);
    for (const size_t window : {64, 256, 1024}) {
      auto clients = make_clients(window, 1);
      report(fmt::format("execute_async, batched, {} single rows in flight", window),
             measure(kRepeats, calls_ * 4, [&](int n) { stream(runner, clients, n); }),
             direct_.least / kRows);
    }
    const RunnerStatistics s = runner.statistics();
    fmt::print("rows per run: {:.1f}\n",
               static_cast<double>(s.rows) / static_cast<double>(s.batches));
  }

  const int calls_;
  RunnerConfig config_;
  std::shared_ptr<const Model> model_;
  Client one_{kRows};
  const void* inputs_[1] = {one_.x.data()};
  void* outputs_[1] = {one_.y.data()};
  Timing direct_{};
};

}  // namespace

int main(int argc, char** argv) {
  RunnerBench(argc > 1 ? std::atoi(argv[1]) : 100'000).run();
  return 0;
}
