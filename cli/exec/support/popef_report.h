// What poprt_exec poprt_run_popef sends and says: sizes of requests, and what was measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace poprt::cli {

// Bytes of an item that fills `part`, 0 to 1, of the places of one row of an input [rows, places,
// ...], but at least one place. All of an input without places.
uint64_t item_bytes(uint64_t bytes, const std::vector<int64_t>& shape, double part);

// What the requests of one process took.
struct RunnerReport {
  std::string kind;  // of the runner
  int64_t batch = 1;
  double seconds = 0;
  std::vector<double> ms;  // of each request

  double throughput() const;  // samples a second
};

// As processes hand it on, in one line.
std::string report_line(const RunnerReport& report);
RunnerReport read_report(const std::string& line);

// The lines for people, of processes that ran at the same time.
struct RunnerLoad {
  int64_t threads = 1, iterations = 1, processes = 1, replicas = 1;
};
std::string summary(const std::vector<RunnerReport>& reports, const RunnerLoad& load);

}  // namespace poprt::cli
