// What poprt_exec bench says of the requests that it has measured.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace poprt::cli {

class Latencies {
 public:
  // Milliseconds of each request, at least one, in any order, and all that they took.
  Latencies(std::vector<double> ms, double seconds);

  size_t count() const { return ms_.size(); }
  nlohmann::json json() const;
  std::string text() const;  // two lines

 private:
  // What the part `q` of the requests does not take longer than.
  double at(double q) const;
  double throughput() const { return static_cast<double>(ms_.size()) / seconds_; }

  std::vector<double> ms_;  // ascending
  double seconds_;
};

}  // namespace poprt::cli
