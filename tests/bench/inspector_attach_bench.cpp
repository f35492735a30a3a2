// Measures the cost of an attached inspector for a serving process. The watching process must
// survive the end of the serving process.
//
//   inspector_attach_bench MODEL.popef [minutes] [requests a second]
//   inspector_attach_bench serve MODEL.popef [requests a second]    serves until it is killed
//
// A separate process serves the model with telemetry. Windows of two seconds are alternately
// watched (with ten readings per second, as by the inspector) and not watched. The CPU time per
// request and the median latency of both are compared. After ten windows the process is killed and
// replaced.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/tensor.h"
#include "model/telemetry_history.h"
#include "runtime/runner/model_runner.h"
#include "runtime/session/popef_file.h"

namespace {

using namespace poprt;
using Clock = std::chrono::steady_clock;

constexpr double kWindow = 2;  // seconds
constexpr int kWindowsPerProcess = 10;

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double resident_mib() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  file >> total >> resident;
  return static_cast<double>(resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE))) / (1 << 20);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Prints a line for each window: CPU time per request in us, median latency in us, requests.
[[noreturn]] void serve(const char* path, double rate) {
  const auto model = runtime::open_popef(std::filesystem::path(path));
  runtime::RunnerConfig config;
  config.session.telemetry = true;
  config.session.load.threads = 1;
  runtime::ModelRunner runner(model, config);
  std::vector<Tensor> memory;
  std::vector<runtime::InputBinding> in;
  std::vector<runtime::OutputBinding> out;
  for (const auto& d : runner.execute_inputs()) {
    memory.push_back(Tensor::zeros(d.anchor.dtype, d.anchor.shape));
    in.push_back({d.anchor.name, 0, memory.back().data(), memory.back().bytes()});
  }
  for (const auto& d : runner.execute_outputs()) {
    memory.push_back(Tensor::zeros(d.anchor.dtype, d.anchor.shape));
    out.push_back({d.anchor.name, 0, memory.back().mutable_data(), memory.back().bytes()});
  }
  auto next = Clock::now();
  const auto step =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1 / rate));
  while (true) {
    std::vector<double> latencies;
    const double cpu = cpu_seconds();
    const auto until = Clock::now() + std::chrono::duration<double>(kWindow);
    while (Clock::now() < until) {
      std::this_thread::sleep_until(next);
      next = std::max(next + step, Clock::now() - 50 * step);
      const auto begin = Clock::now();
      runner.execute_async(in, out)->wait();
      latencies.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    }
    const auto requests = static_cast<double>(latencies.size());
    fmt::print("{} {} {}\n", (cpu_seconds() - cpu) * 1e6 / requests, median(latencies), requests);
    std::fflush(stdout);
  }
}

// The serving process, whose lines can be read.
class Server {
 public:
  Server(const std::string& self, const std::string& model, double rate) {
    int ends[2];
    if (pipe(ends) != 0) std::exit(2);
    child_ = fork();
    if (child_ == 0) {
      dup2(ends[1], 1);
      close(ends[0]);
      execl(self.c_str(), self.c_str(), "serve", model.c_str(), fmt::format("{}", rate).c_str(),
            static_cast<char*>(nullptr));
      _exit(127);
    }
    close(ends[1]);
    lines_ = fdopen(ends[0], "r");
  }
  ~Server() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    std::fclose(lines_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  struct Window {
    double cpu_us = 0, latency_us = 0, requests = 0;
  };
  Window next() {
    Window w;
    if (std::fscanf(lines_, "%lf %lf %lf", &w.cpu_us, &w.latency_us, &w.requests) != 3) {
      fmt::print(stderr, "the serving process ended\n");
      std::exit(1);
    }
    return w;
  }

 private:
  pid_t child_ = 0;
  FILE* lines_ = nullptr;
};

void print_ratio(const char* what, std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  fmt::print("{:<28} watched / not: minimum {:.4f}, median {:.4f}, maximum {:.4f} of {} pairs\n",
             what, ratios.front(), median(ratios), ratios.back(), ratios.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || (std::strcmp(argv[1], "serve") == 0 && argc < 3)) {
    fmt::print(stderr, "inspector_attach_bench MODEL.popef [minutes] [requests a second]\n");
    return 2;
  }
  if (std::strcmp(argv[1], "serve") == 0) serve(argv[2], argc > 3 ? std::atof(argv[3]) : 1000);
  const double minutes = argc > 2 ? std::atof(argv[2]) : 10,
               rate = argc > 3 ? std::atof(argv[3]) : 1000;

  std::vector<double> cpu, latency;
  const auto begin = Clock::now();
  double early = 0, requests = 0;
  int kills = 0;
  bool watched_first = false;
  // Watches for a long time, as an inspector that stays open. Its memory must not grow without
  // limit.
  while (std::chrono::duration<double>(Clock::now() - begin).count() < minutes * 60) {
    Server server("/proc/self/exe", argv[1], rate);
    server.next();  // not measured, because it begins with cold caches
    for (int i = 0; i < kWindowsPerProcess; i += 2) {
      Server::Window pair[2];  // not watched, watched; either may come first
      for (int turn = 0; turn < 2; turn++) {
        const bool watched = (turn == 0) == watched_first;
        std::unique_ptr<inspector::TelemetryWatcher> watcher;
        if (watched) watcher = std::make_unique<inspector::TelemetryWatcher>();
        pair[watched ? 1 : 0] = server.next();
        if (watcher)
          watcher->with_history([&](const inspector::TelemetryHistory& history) {
            for (const auto& s : history.series())
              if (!s.samples.empty())
                requests += static_cast<double>(s.samples.back().all_completed);
          });
      }
      watched_first = !watched_first;
      cpu.push_back(pair[1].cpu_us / pair[0].cpu_us);
      latency.push_back(pair[1].latency_us / pair[0].latency_us);
    }
    kills++;
    if (early == 0) early = resident_mib();
  }
  print_ratio("CPU time per request", cpu);
  print_ratio("median latency", latency);
  fmt::print("{} processes killed; the watching process grew by {:+.1f} MiB since the first\n",
             kills, resident_mib() - early);
  return requests > 0 ? 0 : 1;
}
