#include "exec/support/latencies.h"

#include <fmt/format.h>

#include <algorithm>

namespace poprt::cli {

Latencies::Latencies(std::vector<double> ms, double seconds)
    : ms_(std::move(ms)), seconds_(seconds) {
  std::ranges::sort(ms_);
}

double Latencies::at(double q) const {
  return ms_[std::min(ms_.size() - 1, static_cast<size_t>(q * static_cast<double>(ms_.size())))];
}

nlohmann::json Latencies::json() const {
  return {{"requests", ms_.size()},
          {"min_ms", ms_.front()},
          {"median_ms", at(0.5)},
          {"p90_ms", at(0.9)},
          {"p99_ms", at(0.99)},
          {"max_ms", ms_.back()},
          {"requests_per_second", throughput()}};
}

std::string Latencies::text() const {
  return fmt::format(
      "latency ms: min {:.4f}  median {:.4f}  p90 {:.4f}  p99 {:.4f}  max {:.4f}\n"
      "throughput: {:.1f} requests/s\n",
      ms_.front(), at(0.5), at(0.9), at(0.99), ms_.back(), throughput());
}

}  // namespace poprt::cli
