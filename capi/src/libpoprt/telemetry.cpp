#include "poprt/telemetry.h"

#include "guard.h"
#include "runtime/telemetry/telemetry.h"
#include "runtime/telemetry/telemetry_reader.h"
#include "runtime/telemetry/trace_channel.h"

using namespace poprt;

struct poprt_trace_channel {
  runtime::TraceChannel channel;
};

poprt_error* poprt_telemetry_read(const char* folder, poprt_string** out_json) {
  return capi::guard([&] {
    auto& out = capi::required(out_json, "out_json");
    out = capi::make_string(
        runtime::telemetry_json(folder ? std::filesystem::path(folder) : runtime::telemetry_dir()));
  });
}

poprt_error* poprt_trace_channel_create(const char* name, poprt_trace_channel** out_channel) {
  return capi::guard([&] {
    capi::required(name, "name");
    auto& out = capi::required(out_channel, "out_channel");
    out = new poprt_trace_channel{runtime::TraceChannel(name)};
  });
}

void poprt_trace_channel_free(poprt_trace_channel* channel) { delete channel; }

void poprt_trace_begin(poprt_trace_channel* channel, const char* label, size_t label_bytes) {
  if (!channel || !label) return;
  poprt_error_free(capi::guard([&] { channel->channel.begin({label, label_bytes}); }));
}

void poprt_trace_end(poprt_trace_channel* channel, const char* label, size_t label_bytes) {
  if (!channel || !label) return;
  poprt_error_free(capi::guard([&] { channel->channel.end({label, label_bytes}); }));
}
