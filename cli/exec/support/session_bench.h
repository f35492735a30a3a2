// Latency of a session's streams, without a runner above it.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "common/abi.h"

namespace poprt::cli {

struct SessionBench {
  const poprt_executable* executable = nullptr;
  bool queues = false;  // else handlers that copy
  int threads = 0, warmup = 0;
  int64_t transfers = 1;  // of each stream in a run of the main programs
  size_t in_flight = 1;   // elements of each queue
  std::vector<std::string> inputs, inputs_pb;
};

// Runs the main programs, for every transfer of the inputs once, while `more(done)` holds; called
// before each but the warm-up. Milliseconds of each, and all that they took.
struct SessionTimes {
  std::vector<double> ms;
  double seconds = 0;
};
SessionTimes bench_session(const SessionBench& bench, const std::function<bool(size_t)>& more);

}  // namespace poprt::cli
