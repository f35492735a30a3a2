// What poprt_exec top shows of the telemetry of sessions.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace poprt::cli {

// Rows of sessions, of their variants and of their queues, under a heading. Rates are those since
// the table before, or since the start of a session that is new.
class TelemetryTable {
 public:
  // `segments` is what poprt_telemetry_read() gives.
  std::string text(const nlohmann::json& segments);

 private:
  struct Sample {
    double ns = 0, runs = 0, busy_ns = 0, completed = 0;
  };
  static std::string rates(const Sample& now, const Sample& last);
  std::string variants(const nlohmann::json& segment, const Sample& of, const Sample& last_of,
                       const std::string& key, std::map<std::string, Sample>& now) const;

  std::map<std::string, Sample> before_;
};

}  // namespace poprt::cli
