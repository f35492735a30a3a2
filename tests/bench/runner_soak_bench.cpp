// Runs the soak test of tests/support/runner_soak.h at full length:
//
//   runner_soak_bench [requests] [seed] [batched|fused|packed|pipelined|fused_pipelined ...]
//
// Each kind of runner receives `requests` requests.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "support/runner_soak.h"

namespace {

uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

constexpr std::pair<std::string_view, poprt::test::SoakKind> kKinds[] = {
    {"batched", poprt::test::SoakKind::batched},
    {"fused", poprt::test::SoakKind::fused},
    {"packed", poprt::test::SoakKind::packed},
    {"pipelined", poprt::test::SoakKind::pipelined},
    {"fused_pipelined", poprt::test::SoakKind::fused_pipelined}};

bool soak_of(std::string_view name, const poprt::test::SoakOptions& options) {
  poprt::test::RunnerSoak soak(options);
  const auto start = std::chrono::steady_clock::now();
  uint64_t early = 0;
  std::atomic<bool> done{false};
  std::thread watcher([&] {
    uint64_t next = options.requests / 10;
    while (!done) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      if (soak.started() < next) continue;
      if (!early) early = resident_bytes();
      fmt::print("{:>9} requests, {:.1f} MiB resident\n", soak.started(),
                 static_cast<double>(resident_bytes()) / (1 << 20));
      std::fflush(stdout);
      next += options.requests / 10;
    }
  });
  soak.run();
  done = true;
  watcher.join();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto& r = soak.result();
  const double growth =
      (static_cast<double>(resident_bytes()) - static_cast<double>(early)) / (1 << 20);
  fmt::print(
      "{}: {} requests in {:.1f} s ({:.0f}/s), {} runners: {} ok, {} failed, {} cancelled, {} "
      "timed "
      "out, {} refused, {} wrong; {:+.1f} MiB since the first tenth\n",
      name, options.requests, seconds, static_cast<double>(options.requests) / seconds,
      r.runners.load(), r.ok.load(), r.failed.load(), r.cancelled.load(), r.timed_out.load(),
      r.refused.load(), r.wrong.load(), growth);
  return r.answered() == options.requests && r.wrong == 0 && growth < 16;
}

}  // namespace

int main(int argc, char** argv) {
  poprt::test::SoakOptions options;
  options.requests = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
  if (argc > 2) options.seed = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
  options.requests_per_runner = 50'000;
  const std::vector<std::string_view> chosen(argv + std::min(argc, 3), argv + argc);
  for (const std::string_view name : chosen)
    if (std::ranges::none_of(kKinds, [&](const auto& kind) { return kind.first == name; })) {
      fmt::print(stderr, "expected batched, fused, packed or pipelined, found '{}'\n", name);
      return 2;
    }
  bool good = true;
  for (const auto& [name, kind] : kKinds) {
    if (!chosen.empty() && std::ranges::count(chosen, name) == 0) continue;
    options.kind = kind;
    good &= soak_of(name, options);
  }
  return good ? 0 : 1;
}
