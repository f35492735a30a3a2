// Summarises the requests that poprt_exec bench has measured.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace poprt::cli {

class Latencies {
 public:
  // `ms` has the milliseconds of each request, at least one, in any order; `seconds` is the total
  // time.
  Latencies(std::vector<double> ms, double seconds);

  size_t count() const { return ms_.size(); }
  nlohmann::json json() const;
  std::string text() const;  // two lines

 private:
  // The quantile `q` of the latencies.
  double at(double q) const;
  double throughput() const { return static_cast<double>(ms_.size()) / seconds_; }

  std::vector<double> ms_;  // ascending
  double seconds_;
};

}  // namespace poprt::cli
