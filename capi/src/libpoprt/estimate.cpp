#include "poprt/estimate.h"

#include <algorithm>
#include <memory>

#include "base/json.h"
#include "estimate_handle.h"
#include "guard.h"
#include "handles.h"
#include "option_lists.h"

using namespace poprt;

namespace {

// "checked: error 10 %"
std::string quality_of(const nlohmann::ordered_json& quality) {
  return fmt::format("{}: error {}", quality.at("trust").get<std::string>(),
                     quality.at("error").get<std::string>());
}

poprt_error* text_of(const poprt_estimate* estimate, std::string poprt_estimate::* text,
                     poprt_string** out_text) {
  return capi::guard([&] {
    const auto& e = capi::required(estimate, "estimate");
    capi::required(out_text, "out_text") = capi::make_string(e.*text);
  });
}

}  // namespace

poprt_estimate* capi::make_estimate(const std::string& text) {
  const auto all = parse_ordered_json(text);
  const auto& json = all.at("estimate");
  auto made = std::make_unique<poprt_estimate>();
  made->json = json_text(json);
  made->report = all.at("report").get<std::string>();
  made->svg = all.at("svg").get<std::string>();
  made->target = json.at("target").at("name").get<std::string>();
  const auto& quality = json.at("quality");
  made->cycle_quality = quality_of(quality.at("cycles"));
  made->memory_quality = quality_of(quality.at("memory"));
  made->host_quality = quality_of(quality.at("host"));
  made->cycles = json.at("cycles").get<int64_t>();
  made->samples = json.at("samples").get<int64_t>();
  made->milliseconds = json.at("milliseconds").get<double>();
  made->period_milliseconds = json.at("period_milliseconds").get<double>();
  made->latency_milliseconds = json.at("latency_milliseconds").get<double>();
  made->host_milliseconds = json.at("host_milliseconds").get<double>();
  made->throughput = json.at("throughput").get<double>();
  made->utilization = json.at("utilization").get<double>();
  made->fits = json.at("fits").get<bool>();
  for (const auto& memory : json.at("memory")) {
    made->tile_bytes = std::max(made->tile_bytes, memory.at("bytes_with_gaps").get<size_t>());
    made->available_bytes = memory.at("available").get<size_t>();
  }
  return made.release();
}

poprt_error* poprt_estimate_target(const poprt_estimate* estimate, poprt_string** out_text) {
  return text_of(estimate, &poprt_estimate::target, out_text);
}

int64_t poprt_estimate_cycles(const poprt_estimate* estimate) {
  return estimate ? estimate->cycles : 0;
}

int64_t poprt_estimate_samples(const poprt_estimate* estimate) {
  return estimate ? estimate->samples : 0;
}

double poprt_estimate_milliseconds(const poprt_estimate* estimate) {
  return estimate ? estimate->milliseconds : 0;
}

double poprt_estimate_period_milliseconds(const poprt_estimate* estimate) {
  return estimate ? estimate->period_milliseconds : 0;
}

double poprt_estimate_latency_milliseconds(const poprt_estimate* estimate) {
  return estimate ? estimate->latency_milliseconds : 0;
}

double poprt_estimate_host_milliseconds(const poprt_estimate* estimate) {
  return estimate ? estimate->host_milliseconds : 0;
}

double poprt_estimate_throughput(const poprt_estimate* estimate) {
  return estimate ? estimate->throughput : 0;
}

double poprt_estimate_utilization(const poprt_estimate* estimate) {
  return estimate ? estimate->utilization : 0;
}

size_t poprt_estimate_tile_bytes(const poprt_estimate* estimate) {
  return estimate ? estimate->tile_bytes : 0;
}

size_t poprt_estimate_available_bytes(const poprt_estimate* estimate) {
  return estimate ? estimate->available_bytes : 0;
}

int32_t poprt_estimate_fits(const poprt_estimate* estimate) {
  return estimate && estimate->fits ? 1 : 0;
}

poprt_error* poprt_estimate_cycle_quality(const poprt_estimate* estimate, poprt_string** out_text) {
  return text_of(estimate, &poprt_estimate::cycle_quality, out_text);
}

poprt_error* poprt_estimate_memory_quality(const poprt_estimate* estimate,
                                           poprt_string** out_text) {
  return text_of(estimate, &poprt_estimate::memory_quality, out_text);
}

poprt_error* poprt_estimate_host_quality(const poprt_estimate* estimate, poprt_string** out_text) {
  return text_of(estimate, &poprt_estimate::host_quality, out_text);
}

poprt_error* poprt_estimate_json(const poprt_estimate* estimate, poprt_string** out_text) {
  return text_of(estimate, &poprt_estimate::json, out_text);
}

poprt_error* poprt_estimate_report(const poprt_estimate* estimate, poprt_string** out_text) {
  return text_of(estimate, &poprt_estimate::report, out_text);
}

poprt_error* poprt_estimate_svg(const poprt_estimate* estimate, poprt_string** out_text) {
  return text_of(estimate, &poprt_estimate::svg, out_text);
}

void poprt_estimate_free(poprt_estimate* estimate) { delete estimate; }

poprt_error* poprt_executable_estimate(const poprt_executable* executable,
                                       poprt_string** out_json) {
  return capi::guard([&] {
    const auto& e = capi::required(executable, "executable");
    auto& out = capi::required(out_json, "out_json");
    const auto found = e.model->opaque.find(capi::kEstimate);
    if (found == e.model->opaque.end())
      fail(ErrorCode::not_found,
           "the executable contains no estimate: compile it with option `estimate`");
    out = capi::make_string(found->second);
  });
}
