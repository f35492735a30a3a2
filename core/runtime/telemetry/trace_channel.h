// Spans of a program's own work, published as a telemetry segment.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/fork_mutex.h"
#include "runtime/telemetry/telemetry.h"

namespace poprt::runtime {

// Whether PVTI_OPTIONS is a JSON object in which "enable" is true or "true". Text that is not a
// JSON object causes a warning.
bool tracing_wanted();

// A channel is a segment with the channel's name. Each label of a span is a variant record; spans
// also count as requests, so that they have latencies. Any thread may begin and end spans. A
// process that was forked while another thread of the parent did so publishes no more of them.
class TraceChannel {
 public:
  static constexpr size_t kLabels = 256;  // spans of further labels have no variant record

  // Publishes nothing unless POPRT_TELEMETRY or PVTI_OPTIONS enables it.
  explicit TraceChannel(std::string_view name);

  bool is_published() const { return telemetry_ != nullptr; }
  void begin(std::string_view label);
  // Ends the last span with this label that this thread began, else the last one of any thread. A
  // span that was not begun is ignored with one warning.
  void end(std::string_view label);

 private:
  struct Open {
    std::string label;
    size_t index;  // kLabels: without a record
    std::thread::id thread;
    Telemetry::Clock::time_point begin;
  };

  size_t find_or_add(std::string_view label);

  std::string name_;
  std::unique_ptr<Telemetry> telemetry_;
  ForkMutex mutex_;
  std::map<std::string, size_t, std::less<>> labels_;
  std::vector<Open> open_;
  bool warned_ = false;
};

}  // namespace poprt::runtime
