// The handle of an estimate.
#pragma once

#include <cstdint>
#include <string>

#include "poprt/estimate.h"

struct poprt_estimate {
  std::string json, report, svg, target;
  std::string cycle_quality, memory_quality, host_quality;
  int64_t cycles = 0, samples = 0;
  double milliseconds = 0, period_milliseconds = 0, latency_milliseconds = 0;
  double host_milliseconds = 0, throughput = 0, utilization = 0;
  size_t tile_bytes = 0, available_bytes = 0;
  bool fits = false;
};

namespace poprt::capi {

// Creates an estimate from the JSON object that the compiler library writes. The caller owns it.
poprt_estimate* make_estimate(const std::string& text);

}  // namespace poprt::capi
