#include "serve/metrics.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "common/json.h"

namespace poprt::serve {
namespace {

// Returns the value of a label, in which the characters that the format reserves are escaped.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

// The state of the generators, from their statistics.
void format_generator_states(
    std::string& text, const std::vector<std::shared_ptr<const LoadedGenerator>>& generators) {
  std::vector<nlohmann::json> states;
  for (const auto& generator : generators) {
    poprt_string* json = nullptr;
    if (poprt_error* error = poprt_generator_statistics(generator->generator.get(), &json)) {
      poprt_error_free(error);
      return;
    }
    states.push_back(cli::parse_json(poprt_string_data(json)));
    poprt_string_free(json);
  }
  struct Family {
    const char *key, *name, *type, *help;
  };
  constexpr Family kFamilies[] = {
      {"busy_slots", "generator_busy_slots", "gauge", "Slots that belong to a text."},
      {"waiting", "generator_waiting_texts", "gauge", "Texts that wait for a slot."},
      {"prompt_seconds", "generator_prompt_seconds_total", "counter",
       "Time in which prompts were computed."},
      {"decode_tokens", "generator_decode_tokens_total", "counter", "Tokens of decoding steps."},
      {"decode_seconds", "generator_decode_seconds_total", "counter", "Time of decoding steps."},
      {"reused_tokens", "generator_reused_tokens_total", "counter",
       "Tokens of prompts that an earlier text had left in the cache."},
      {"places", "generator_cache_places", "gauge", "Places for tokens in the caches."},
      {"used_places", "generator_cache_used_places", "gauge", "Places that texts use."},
      {"cache_bytes", "generator_cache_bytes", "gauge", "Memory of the caches."}};
  for (const Family& f : kFamilies) {
    text += fmt::format("# HELP poprt_{0} {1}\n# TYPE poprt_{0} {2}\n", f.name, f.help, f.type);
    for (size_t i = 0; i < generators.size(); i++)
      text += fmt::format("poprt_{}{{model=\"{}\"}} {}\n", f.name, escaped(generators[i]->name),
                          states[i].at(f.key).dump());
  }
}

void format_generators_metrics(
    std::string& text, const std::vector<std::shared_ptr<const LoadedGenerator>>& generators) {
  if (generators.empty()) return;
  const auto family = [&](const char* name, const char* type, const char* help, auto&& value) {
    text += fmt::format("# HELP poprt_{0} {1}\n# TYPE poprt_{0} {2}\n", name, help, type);
    for (const auto& generator : generators)
      text += fmt::format("poprt_{}{{model=\"{}\"}} {}\n", name, escaped(generator->name),
                          value(*generator));
  };
  using G = const LoadedGenerator&;
  const auto seconds = [](uint64_t ns) { return static_cast<double>(ns) / 1e9; };
  family("texts_succeeded_total", "counter", "Texts that ended with a reason of their own.",
         [](G g) { return g.counters->succeeded.load(); });
  family("texts_failed_total", "counter", "Texts that failed or were cancelled.",
         [](G g) { return g.counters->failed.load(); });
  family("completions_rejected_total", "counter", "Requests beyond the limit of texts.",
         [](G g) { return g.counters->rejected.load(); });
  family("prompt_tokens_total", "counter", "Tokens of prompts.",
         [](G g) { return g.counters->prompt_tokens.load(); });
  family("generated_tokens_total", "counter", "Tokens that were generated.",
         [](G g) { return g.counters->tokens.load(); });
  family("time_to_first_token_seconds_sum", "counter",
         "Sum of the times from the start of a text to its first token.",
         [&](G g) { return seconds(g.counters->first_token_ns.load()); });
  family("time_to_first_token_seconds_count", "counter", "Texts that had a first token.",
         [](G g) { return g.counters->first_tokens.load(); });
  family("texts_in_flight", "gauge", "Texts that wait or are generated.",
         [](G g) { return g.counters->in_flight.load(); });
  family("generator_slots", "gauge", "Texts that one step computes together.",
         [](G g) { return poprt_generator_slots(g.generator.get()); });
  format_generator_states(text, generators);
}

// The shapes of models that are compiled on demand.
void format_shapes_metrics(std::string& text,
                           const std::vector<std::shared_ptr<const LoadedModel>>& models) {
  std::vector<std::pair<std::string, nlohmann::json>> shapes;
  for (const auto& model : models) {
    poprt_string* json = nullptr;
    if (model->model.kind() != serving::Kind::open) continue;
    if (poprt_error* error = poprt_runner_statistics(model->runner.get(), &json)) {
      poprt_error_free(error);
      continue;
    }
    shapes.emplace_back(model->name, cli::parse_json(serving::take(json)).at("shapes"));
  }
  if (shapes.empty()) return;
  struct Family {
    const char *key, *name, *type, *help;
  };
  constexpr Family kFamilies[] = {
      {"kept", "shapes_kept", "gauge", "Shapes that are ready."},
      {"compiled", "shapes_compiled_total", "counter",
       "Shapes that were compiled on demand, since the model was loaded."},
      {"from_cache", "shapes_from_cache_total", "counter",
       "Shapes that were taken from the cache of compiled models, since the model was loaded."},
      {"failed", "shapes_failed_total", "counter",
       "Shapes that could not be compiled, since the model was loaded."},
      {"removed", "shapes_removed_total", "counter",
       "Shapes that were removed to make room for others, since the model was loaded."}};
  for (const Family& f : kFamilies) {
    text += fmt::format("# HELP poprt_{0} {1}\n# TYPE poprt_{0} {2}\n", f.name, f.help, f.type);
    for (const auto& [name, json] : shapes) {
      const auto& value = json.at(f.key);
      text += fmt::format("poprt_{}{{model=\"{}\"}} {}\n", f.name, escaped(name),
                          value.is_array() ? value.size() : value.get<uint64_t>());
    }
  }
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
  // The sum of a counter of the model's runners.
  const auto device = [](M model, uint64_t poprt_runner_counters::* counter) {
    uint64_t sum = 0;
    for (const serving::Runner* runner : {&model.runner, &model.batching}) {
      poprt_runner_counters counters = {};
      counters.struct_size = sizeof counters;
      if (!*runner) continue;
      if (poprt_error* error =
              poprt_runner_get_counters(runner->get(), POPRT_ALL_REPLICAS, &counters))
        poprt_error_free(error);
      sum += counters.*counter;
    }
    return sum;
  };
  family("requests_succeeded_total", "counter", "Requests that were answered.",
         [](M m) { return m.counters->succeeded.load(); });
  family("requests_failed_total", "counter", "Requests that failed, also those that were invalid.",
         [](M m) { return m.counters->failed.load(); });
  family("requests_rejected_total", "counter", "Requests beyond the limit of waiting requests.",
         [](M m) { return m.counters->rejected.load(); });
  family("rows_total", "counter",
         "Rows of answered requests. A request without rows counts as one.",
         [](M m) { return m.counters->rows.load(); });
  family("request_duration_seconds_total", "counter",
         "Sum of the times from submission to the result.",
         [](M m) { return static_cast<double>(m.counters->nanoseconds.load()) / 1e9; });
  family("batches_total", "counter", "Runs of the device since the model was loaded.",
         [&](M m) { return device(m, &poprt_runner_counters::batches); });
  family("padded_rows_total", "counter",
         "Rows that only fill batches of one shape, since the model was loaded.",
         [&](M m) { return device(m, &poprt_runner_counters::padded_rows); });
  text +=
      "# HELP poprt_model_ready 1 for a model or generator that is ready, 0 for one that is loaded "
      "now, has failed or was unloaded.\n# TYPE poprt_model_ready gauge\n";
  for (const ModelStatus& status : repository.index())
    text += fmt::format("poprt_model_ready{{model=\"{}\"}} {:d}\n", escaped(status.name),
                        status.state == "READY");
  format_shapes_metrics(text, models);
  format_generators_metrics(text, repository.generators());
  text += fmt::format(
      "# HELP poprt_requests_in_flight Requests that wait or are computed.\n"
      "# TYPE poprt_requests_in_flight gauge\npoprt_requests_in_flight {}\n",
      inference.admission().in_flight());
  return text;
}

}  // namespace poprt::serve
