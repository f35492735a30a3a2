#include "serve/metrics.h"

#include <fmt/format.h>

namespace poprt::serve {
namespace {

// A label's value with the characters escaped that the format reserves.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

}  // namespace

std::string format_metrics(const ModelRepository& repository, const Inference& inference) {
  std::string text;
  const auto models = repository.loaded();
  const auto family = [&](const char* name, const char* type, const char* help, auto&& value) {
    text += fmt::format("# HELP poprt_{0} {1}\n# TYPE poprt_{0} {2}\n", name, help, type);
    for (const auto& model : models)
      text +=
          fmt::format("poprt_{}{{model=\"{}\"}} {}\n", name, escaped(model->name), value(*model));
  };
  using M = const LoadedModel&;
  const auto device = [](M model) {
    poprt_runner_counters counters = {};
    counters.struct_size = sizeof counters;
    if (poprt_error* error =
            poprt_runner_get_counters(model.runner.get(), POPRT_ALL_REPLICAS, &counters))
      poprt_error_free(error);
    return counters;
  };
  family("requests_succeeded_total", "counter", "Requests that were answered.",
         [](M m) { return m.counters->succeeded.load(); });
  family("requests_failed_total", "counter", "Requests that failed after they were accepted.",
         [](M m) { return m.counters->failed.load(); });
  family("requests_rejected_total", "counter", "Requests beyond the limit of waiting requests.",
         [](M m) { return m.counters->rejected.load(); });
  family("rows_total", "counter", "Rows of answered requests.",
         [](M m) { return m.counters->rows.load(); });
  family("request_duration_seconds_total", "counter",
         "Sum of the times from submission to the result.",
         [](M m) { return static_cast<double>(m.counters->nanoseconds.load()) / 1e9; });
  family("batches_total", "counter", "Runs of the device since the model was loaded.",
         [&](M m) { return device(m).batches; });
  family("padded_rows_total", "counter", "Rows that only fill batches, since the model was loaded.",
         [&](M m) { return device(m).padded_rows; });
  family("model_ready", "gauge", "1 for each model that is ready.", [](M) { return 1; });
  text += fmt::format(
      "# HELP poprt_requests_in_flight Requests that wait or are computed.\n"
      "# TYPE poprt_requests_in_flight gauge\npoprt_requests_in_flight {}\n",
      inference.in_flight());
  return text;
}

}  // namespace poprt::serve
