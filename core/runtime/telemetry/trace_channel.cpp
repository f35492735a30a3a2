#include "runtime/telemetry/trace_channel.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.h"

namespace poprt::runtime {

bool tracing_wanted() {
  const char* text = std::getenv("PVTI_OPTIONS");
  if (!text || !*text) return false;
  const auto options = nlohmann::json::parse(text, nullptr, false);
  if (!options.is_object()) {
    log().warn("PVTI_OPTIONS is no JSON object such as {{\"enable\":\"true\"}}: it has no effect");
    return false;
  }
  const auto enable = options.find("enable");
  return enable != options.end() && (*enable == true || *enable == "true");
}

TraceChannel::TraceChannel(std::string_view name) : name_(name) {
  if (telemetry_wanted() || tracing_wanted())
    telemetry_ = Telemetry::try_make(name, 0, 0, std::vector<std::string>(kLabels));
}

// Requires the lock.
size_t TraceChannel::find_or_add(std::string_view label) {
  const auto known = labels_.find(label);
  if (known != labels_.end()) return known->second;
  const size_t index = labels_.size();
  if (index == kLabels) return kLabels;
  labels_.emplace(label, index);
  telemetry_->name_variant(index, label);
  return index;
}

void TraceChannel::begin(std::string_view label) {
  if (!telemetry_) return;
  telemetry_->submitted();
  const std::lock_guard lock(mutex_);
  if (mutex_.abandoned()) return;
  open_.push_back({std::string(label), find_or_add(label), std::this_thread::get_id(),
                   Telemetry::Clock::now()});
}

void TraceChannel::end(std::string_view label) {
  if (!telemetry_) return;
  const auto now = Telemetry::Clock::now();
  const std::lock_guard lock(mutex_);
  if (mutex_.abandoned()) return;
  const auto last = [&](auto matches) {
    return std::find_if(open_.rbegin(), open_.rend(), matches);
  };
  auto span = last([&, thread = std::this_thread::get_id()](const Open& o) {
    return o.label == label && o.thread == thread;
  });
  if (span == open_.rend()) span = last([&](const Open& o) { return o.label == label; });
  if (span == open_.rend()) {
    if (!std::exchange(warned_, true))
      log().warn("trace channel '{}': span '{}' ends but was not begun", name_, label);
    return;
  }
  telemetry_->ran(span->begin, now, span->index);
  telemetry_->completed(now - span->begin);
  open_.erase(std::next(span).base());
}

}  // namespace poprt::runtime
