// Measures the gain of a second IPU: one IPU on one core alternates with two pipelined IPUs on two
// cores.
//
//   sharding_bench MODEL.onnx [REQUESTS] [IPUS]
//
// Both receive REQUESTS (default 60) requests, and enough of them are in flight. Prints requests
// per second of each turn and the ratio, and the gain if one IPU uses the same two cores as
// threads.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <poprt/poprt.hpp>
#include <string>
#include <vector>

namespace {

using poprt::compiler::Compiler;
using poprt::compiler::CompilerOptions;
using poprt::runtime::ModelRunner;
using Clock = std::chrono::steady_clock;

constexpr int kTurns = 5;

struct Memory {
  explicit Memory(ModelRunner& runner) {
    const auto add = [&](const poprt::DataDesc& d) -> void* {
      memory.emplace_back(static_cast<std::size_t>(d.sizeInBytes) + 64);
      return memory.back().data();
    };
    for (const auto& d : runner.getExecuteInputs())
      in[d.name] = {add(d), static_cast<std::size_t>(d.sizeInBytes)};
    for (const auto& d : runner.getExecuteOutputs())
      out[d.name] = {add(d), static_cast<std::size_t>(d.sizeInBytes)};
  }
  std::deque<std::vector<char>> memory;
  poprt::runtime::InputMemoryView in;
  poprt::runtime::OutputMemoryView out;
};

// Returns requests per second.
double run(ModelRunner& runner, std::deque<Memory>& memory, int requests) {
  const auto begin = Clock::now();
  std::deque<poprt::runtime::Request> open;
  for (int i = 0; i < requests; i++) {
    if (open.size() == memory.size()) {
      open.front().wait();
      open.pop_front();
    }
    Memory& m = memory[static_cast<std::size_t>(i) % memory.size()];
    open.push_back(runner.submit(m.in, m.out));
  }
  for (auto& request : open) request.wait();
  return requests / std::chrono::duration<double>(Clock::now() - begin).count();
}

void print(const char* what, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::printf("%-40s %.4g / %.4g / %.4g\n", what, values.front(), values[values.size() / 2],
              values.back());
}

poprt::runtime::RuntimeConfig threads(int count) {
  poprt::runtime::RuntimeConfig config;
  config.threads = count;
  return config;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) {
    std::fprintf(stderr, "usage: sharding_bench MODEL.onnx [REQUESTS] [IPUS]\n");
    return 2;
  }
  const int requests = argc > 2 ? std::atoi(argv[2]) : 60, ipus = argc > 3 ? std::atoi(argv[3]) : 2;
  const auto one = Compiler::compile(argv[1], {}, {});
  CompilerOptions options;
  const std::string count = std::to_string(ipus);
  options.options = {{"compiler_options", "num_ipus=" + count +
                                              "\nvirtual_graph_mode=auto\nenable_pipelining=True\n"
                                              "batches_per_step=" +
                                              count}};
  const auto several = Compiler::compile(argv[1], {}, options);
  ModelRunner alone(one, threads(1)), shared(one, threads(ipus)), pipeline(several, threads(ipus));
  std::deque<Memory> memory;
  for (int i = 0; i < 3 * ipus; i++) memory.emplace_back(alone);
  std::vector<double> first, threaded, piped, ratio, ratio_threaded;
  for (ModelRunner* r : {&alone, &shared, &pipeline}) run(*r, memory, 8);
  for (int turn = 0; turn < kTurns; turn++) {
    first.push_back(run(alone, memory, requests));
    piped.push_back(run(pipeline, memory, requests));
    threaded.push_back(run(shared, memory, requests));
    ratio.push_back(piped.back() / first.back());
    ratio_threaded.push_back(threaded.back() / first.back());
  }
  std::printf("least / median / most of %d turns\n", kTurns);
  print("one IPU, one core: requests/s", first);
  print((count + " IPUs, pipelined, a core each").c_str(), piped);
  print(("one IPU, " + count + " threads").c_str(), threaded);
  print("pipelined to one", ratio);
  print("threads to one", ratio_threaded);
  return 0;
} catch (const poprt::Error& e) {
  std::fprintf(stderr, "sharding_bench: %s\n", e.what());
  return 1;
}
