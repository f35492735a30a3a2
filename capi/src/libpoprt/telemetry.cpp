#include "poprt/telemetry.h"

#include "guard.h"
#include "runtime/telemetry/telemetry.h"
#include "runtime/telemetry/telemetry_reader.h"

using namespace poprt;

poprt_error* poprt_telemetry_read(const char* folder, poprt_string** out_json) {
  return capi::guard([&] {
    auto& out = capi::required(out_json, "out_json");
    out = capi::make_string(
        runtime::telemetry_json(folder ? std::filesystem::path(folder) : runtime::telemetry_dir()));
  });
}
