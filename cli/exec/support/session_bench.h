// Measures the latency of a session's streams without a runner.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "common/abi.h"

namespace poprt::cli {

struct SessionBench {
  const poprt_executable* executable = nullptr;
  bool queues = false;  // whether to use queues; else handlers that copy
  int threads = 0, warmup = 0;
  int64_t transfers = 1;  // of each stream per run of the main programs
  size_t in_flight = 1;   // elements of each queue
  std::vector<std::string> inputs, inputs_pb;
};

struct SessionTimes {
  std::vector<double> ms;
  double seconds = 0;
};
// Runs the main programs while `more(done)` returns true, where `done` is the number of transfers
// of each stream so far. `more` is called before each run of the main programs or, with queues,
// before each transfer, but not for the warm-up. Returns the milliseconds of each transfer, which
// are those of its run without queues, and the total time. Throws Usage for queues without outputs,
// Failure for errors of the session, and the errors of fill_inputs().
SessionTimes bench_session(const SessionBench& bench, const std::function<bool(size_t)>& more);

}  // namespace poprt::cli
