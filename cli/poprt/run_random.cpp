#include "poprt/run_random.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <vector>

#include "common/random_inputs.h"

namespace poprt::cli {

void run_random(poprt_runner* runner, const std::string& prefix) {
  std::vector<AnchorMemory> memory;
  std::vector<poprt_input> inputs;
  std::vector<poprt_output> outputs;
  const auto ins = inputs_of(runner), outs = outputs_of(runner);
  memory.reserve(ins.size() + outs.size());
  std::vector<std::vector<int64_t>> shapes;
  for (const poprt_anchor* a : ins) {
    if (!std::string_view(poprt_anchor_name(a)).starts_with(prefix)) continue;
    memory.emplace_back(a);
    fill_random(a, memory.back().data(), inputs.size() + 1);
    const int64_t* shape = poprt_anchor_shape(a);
    shapes.emplace_back(shape, shape + poprt_anchor_rank(a));
    inputs.push_back({poprt_anchor_name(a), 0, memory.back().data(), memory.back().bytes()});
  }
  for (const poprt_anchor* a : outs) {
    if (!std::string_view(poprt_anchor_name(a)).starts_with(prefix)) continue;
    memory.emplace_back(a);
    outputs.push_back({poprt_anchor_name(a), 0, memory.back().data(), memory.back().bytes()});
  }
  const auto run = [&] {
    check(
        poprt_runner_execute(runner, inputs.data(), inputs.size(), outputs.data(), outputs.size()));
  };
  using Clock = std::chrono::steady_clock;
  std::vector<double> ms;
  for (int warm = 0; warm < 3; warm++) run();
  const auto begin = Clock::now();
  while (ms.size() < 10 || (Clock::now() - begin < std::chrono::seconds(1) && ms.size() < 100000)) {
    const auto t0 = Clock::now();
    run();
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - t0).count());
  }
  std::nth_element(ms.begin(), ms.begin() + static_cast<std::ptrdiff_t>(ms.size() / 2), ms.end());
  const double median = ms[ms.size() / 2];
  const int64_t batch = rows_of(shapes);
  fmt::print("Bs: {}\nLatency: {:.{}f}ms\nTput: {:.0f}\n", batch, median, median < 0.1 ? 4 : 2,
             static_cast<double>(batch) * 1000.0 / median);
}

void run_random(const poprt_executable* executable, bool joins_inputs) {
  if (!joins_inputs) return run_random(make_runner(executable, {}).get(), "");
  poprt_runner* runner = nullptr;
  check(poprt_host_concat_runner_create(executable, nullptr, &runner));
  run_random(Runner(runner).get(), "");
}

Estimate estimate_of(const GivenOptions& given, const poprt_compiler* compiler,
                     const std::string& model) {
  if (!given.has("ipu_version") && !given.has("estimate_target") && !given.has("estimate"))
    return nullptr;
  poprt_estimate* made = nullptr;
  check(poprt_compiler_estimate_file(compiler, model.c_str(), &made));
  return Estimate(made);
}

void print_estimate(const poprt_estimate* estimate) {
  if (!estimate) return;
  poprt_string *target = nullptr, *cycles = nullptr, *memory = nullptr;
  check(poprt_estimate_target(estimate, &target));
  check(poprt_estimate_cycle_quality(estimate, &cycles));
  check(poprt_estimate_memory_quality(estimate, &memory));
  fmt::print(
      "Estimate for a chip ({}), not measured (poprt help estimate):\n"
      "  Latency: {:.{}f}ms, {} cycles [{}]\n"
      "  Tput: {:.0f}\n"
      "  Memory: {} of {} bytes on the busiest tile, {} [{}]\n",
      take(target), poprt_estimate_latency_milliseconds(estimate),
      poprt_estimate_latency_milliseconds(estimate) < 0.1 ? 4 : 2, poprt_estimate_cycles(estimate),
      take(cycles), poprt_estimate_throughput(estimate), poprt_estimate_tile_bytes(estimate),
      poprt_estimate_available_bytes(estimate),
      poprt_estimate_fits(estimate) ? "fits" : "does not fit", take(memory));
}

}  // namespace poprt::cli
