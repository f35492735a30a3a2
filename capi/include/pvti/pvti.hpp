// Trace channels and tracepoints, with the names of the PopVision trace instrumentation library.
//
//   static pvti::TraceChannel channel = {"preprocessing"};
//   pvti::Tracepoint span(&channel, "resize");  // until the end of the block
//
// The spans are part of the telemetry (poprt/telemetry.h).
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <utility>

#include "poprt/error.hpp"
#include "poprt/telemetry.h"

namespace pvti {

// Published from its first span on, if the environment enables it. It must outlive its tracepoints.
class TraceChannel {
 public:
  TraceChannel(std::string name) : name_(std::move(name)) {}
  TraceChannel(const char* name) : TraceChannel(std::string(name)) {}
  ~TraceChannel() { poprt_trace_channel_free(handle_); }
  TraceChannel(const TraceChannel&) = delete;
  TraceChannel& operator=(const TraceChannel&) = delete;

  const std::string& name() const { return name_; }
  poprt_trace_channel* handle() {
    std::call_once(created_, [&] {
      poprt::detail::check(poprt_trace_channel_create(name_.c_str(), &handle_));
    });
    return handle_;
  }

 private:
  std::string name_;
  std::once_flag created_;
  poprt_trace_channel* handle_ = nullptr;
};

// A span during the life of this object. Any thread.
class Tracepoint {
 public:
  Tracepoint(TraceChannel* channel, std::string label)
      : channel_(channel), label_(std::move(label)) {
    begin(channel_, label_);
  }
  Tracepoint(TraceChannel* channel, const char* label) : Tracepoint(channel, std::string(label)) {}
  Tracepoint(TraceChannel* channel, const char* label, std::size_t size)
      : Tracepoint(channel, std::string(label, size)) {}
  ~Tracepoint() { poprt_trace_end(channel_->handle(), label_.data(), label_.size()); }
  Tracepoint(const Tracepoint&) = delete;
  Tracepoint& operator=(const Tracepoint&) = delete;

  // Spans that do not have the form of a block. The end may be in another thread.
  static void begin(TraceChannel* channel, const std::string& label) {
    poprt_trace_begin(channel->handle(), label.data(), label.size());
  }
  static void end(TraceChannel* channel, const std::string& label) {
    poprt_trace_end(channel->handle(), label.data(), label.size());
  }

 private:
  TraceChannel* channel_;
  std::string label_;
};

}  // namespace pvti
