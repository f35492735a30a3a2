// The table of sessions that poprt_exec top prints from telemetry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace poprt::cli {

// Rows for sessions, their variants, queues and generators, under a heading. Rates are relative to
// the previous table, or to the start of a new session.
class TelemetryTable {
 public:
  static constexpr size_t kAnyWidth = SIZE_MAX;
  // `segments` is the result of poprt_telemetry_read(). Lines have at most `width` columns; a
  // narrow table has fewer columns. Without segments, the text explains how to publish telemetry.
  std::string text(const nlohmann::json& segments, size_t width = kAnyWidth);

 private:
  struct Sample {
    double ns = 0, runs = 0, busy_ns = 0, completed = 0;
    double prompt_tokens = 0, decode_tokens = 0;  // of a generator
  };
  static std::string rates(const Sample& now, const Sample& last);
  static std::string generator(const nlohmann::json& segment, const Sample& now,
                               const Sample& last);
  std::string variants(const nlohmann::json& segment, const Sample& of, const Sample& last_of,
                       const std::string& key, std::map<std::string, Sample>& now) const;

  std::map<std::string, Sample> before_;
};

}  // namespace poprt::cli
