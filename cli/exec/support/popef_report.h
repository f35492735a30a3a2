// Sizes of the requests of poprt_exec poprt_run_popef, and reports of their times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace poprt::cli {

// Returns the bytes of an item that fills the fraction `part` (0 to 1) of the places of one row of
// an input [1, places, ...], and at least one place. An input of another form is used completely.
uint64_t item_bytes(uint64_t bytes, const std::vector<int64_t>& shape, double part);

// The times of the requests of one process.
struct RunnerReport {
  std::string kind;  // kind of the runner
  int64_t batch = 1;
  double seconds = 0;
  std::vector<double> ms;  // per request

  double throughput() const;  // samples per second
};

// One line that a parent process parses.
std::string report_line(const RunnerReport& report);
RunnerReport read_report(const std::string& line);

// The numbers of client threads, of requests of each thread, of processes, and of replicas in each
// process.
struct RunnerLoad {
  int64_t threads = 1, iterations = 1, processes = 1, replicas = 1;
};
// Returns the lines to print for processes that ran at the same time.
std::string summary(const std::vector<RunnerReport>& reports, const RunnerLoad& load);

}  // namespace poprt::cli
