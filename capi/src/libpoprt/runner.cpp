#include "poprt/runner.h"

#include <array>
#include <span>

#include "base/json.h"
#include "device/execution_precision.h"
#include "device/thread_count.h"
#include "faithful_device.h"
#include "option_values.h"
#include "profile.h"
#include "request_options.h"
#include "runner_options.h"
#include "runtime/runner/bucket_runner.h"
#include "runtime/runner/model_fusion_runner.h"
#include "runtime/runner/shape_runner.h"
#include "runtime/session/anchor_lookup.h"
#include "runtime/session/variants.h"
#include "shape_compiler.h"
#include "struct_size.h"

using namespace poprt;

namespace {

// The bindings of one call, on the stack unless there are many.
template <class Binding, class Given>
class Bindings {
 public:
  Bindings(const Given* given, size_t count, const char* name) {
    if (count) capi::required(given, name);
    Binding* to = few_.data();
    if (count > few_.size()) {
      many_.resize(count);
      to = many_.data();
    }
    for (size_t i = 0; i < count; i++)
      to[i] = {given[i].name ? std::string_view(given[i].name) : std::string_view(), given[i].index,
               given[i].data, given[i].bytes};
    span_ = {to, count};
  }
  std::span<const Binding> span() const { return span_; }

 private:
  std::array<Binding, 16> few_;
  std::vector<Binding> many_;
  std::span<const Binding> span_;
};
using Inputs = Bindings<runtime::InputBinding, poprt_input>;
using Outputs = Bindings<runtime::OutputBinding, poprt_output>;

const poprt_anchor* at(const std::vector<runtime::DataDesc>& list, size_t index) {
  return index < list.size() ? capi::to_handle(&list[index].anchor) : nullptr;
}

size_t index_of(const std::vector<runtime::DataDesc>& list, const char* name,
                std::string_view direction) {
  std::vector<program::Anchor> anchors;
  for (const runtime::DataDesc& d : list) anchors.push_back(d.anchor);
  return runtime::find_anchor(anchors, &capi::required(name, "name"), 0, direction);
}

nlohmann::ordered_json to_json(const runtime::RunnerStatistics& s) {
  return {{"submitted", s.submitted},
          {"completed", s.completed},
          {"failed", s.failed},
          {"cancelled", s.cancelled},
          {"timed_out", s.timed_out},
          {"rows", s.rows},
          {"padded_rows", s.padded_rows},
          {"batches", s.batches},
          {"steps", s.steps},
          {"device_errors", s.device_errors},
          {"resets", s.resets},
          {"in_flight", s.in_flight},
          {"queue_capacity", s.queue_capacity},
          {"latency",
           {{"count", s.latency.count},
            {"total_ns", s.latency.total_ns},
            {"max_ns", s.latency.max_ns},
            {"p50_ns", s.latency.quantile_ns(0.5)},
            {"p99_ns", s.latency.quantile_ns(0.99)},
            {"buckets", s.latency.counts}}}};
}

nlohmann::ordered_json to_json(const runtime::BucketRunner& runner) {
  auto list = nlohmann::ordered_json::array();
  const runtime::Variants& variants = runner.variants();
  for (size_t i = 0; i < variants.count; i++) {
    const runtime::BucketStatistics s = runner.bucket_statistics(i);
    auto sizes = nlohmann::ordered_json::object();
    for (size_t d = 0; d < variants.dimensions.size(); d++)
      sizes[variants.dimensions[d]] = variants.buckets[i].sizes[d];
    list.push_back({{"sizes", std::move(sizes)},
                    {"requests", s.requests},
                    {"padded", s.padded},
                    {"elements", s.elements},
                    {"room", s.room}});
  }
  return list;
}

nlohmann::ordered_json to_json(const runtime::ShapeRunner& runner) {
  const runtime::ShapesStatistics all = runner.shapes();
  auto list = nlohmann::ordered_json::array();
  for (const runtime::ShapeStatistics& s : all.shapes) {
    auto sizes = nlohmann::ordered_json::object();
    for (size_t d = 0; d < s.sizes.size(); d++) sizes[runner.sizes()[d]] = s.sizes[d];
    list.push_back({{"sizes", std::move(sizes)},
                    {"ahead", s.ahead},
                    {"from_cache", s.from_cache},
                    {"compile_ns", s.compile_ns},
                    {"requests", s.requests},
                    {"padded", s.padded}});
  }
  return {{"kept", std::move(list)},
          {"compiled", all.compiled},
          {"from_cache", all.from_cache},
          {"failed", all.failed},
          {"removed", all.removed}};
}

nlohmann::ordered_json open_dimensions(const std::vector<runtime::DataDesc>& descs) {
  auto list = nlohmann::ordered_json::object();
  for (const runtime::DataDesc& d : descs) list[d.anchor.name] = d.anchor.shape;
  return list;
}

nlohmann::ordered_json open_dimensions(const std::vector<program::OpenAnchor>& anchors) {
  auto list = nlohmann::ordered_json::object();
  for (const program::OpenAnchor& a : anchors) {
    auto& dimensions = list[a.name] = nlohmann::ordered_json::array();
    for (size_t d = 0; d < a.shape.size(); d++)
      if (a.shape[d] != program::kOpen)
        dimensions.push_back(a.shape[d]);
      else if (a.names[d].empty())
        dimensions.push_back(nullptr);
      else
        dimensions.push_back(a.names[d]);
  }
  return list;
}

// Creates the runner of a model whose shapes are compiled on demand. Returns null for other models,
// and if the options need the shape that was compiled ahead: merged requests, or arithmetic of an
// interpreter. Throws failed_precondition if they need it and there is none.
std::unique_ptr<runtime::ShapeRunner> shape_runner(const poprt_executable& executable,
                                                   const poprt_runner_options* options) {
  if (!executable.shapes) return nullptr;
  auto o = capi::read_options(options, "poprt_runner_options");
  const std::string_view numerics = o.numerics ? o.numerics : "";
  // A wrong value is an error here instead of in the first request, which compiles a shape.
  static_cast<void>(capi::numerics_named(numerics));
  static_cast<void>(device::threads_for(o.threads));
  if (o.execution_precision && *o.execution_precision)
    static_cast<void>(device::execution_precision_named(o.execution_precision));
  if (o.use_batching_dim || (!numerics.empty() && numerics != "fast")) {
    try {
      static_cast<void>(executable.compiled());
    } catch (Error& error) {
      error.add_context(o.use_batching_dim ? "`batching_dim` needs a compiled shape"
                                           : "`numerics` needs a compiled shape");
      throw;
    }
    return nullptr;
  }
  // The compiler receives the execution precision, so that it also compiles the shapes of requests
  // in it and packs their weights for it.
  std::shared_ptr<capi::ShapeCompiler> shapes = executable.shapes;
  std::shared_ptr<const runtime::Model> model = executable.model;
  if (o.execution_precision && *o.execution_precision) {
    shapes = shapes->with_execution_precision(o.execution_precision);
    if (auto ahead = shapes->load()) model = std::move(ahead);
  }
  o.struct_size = sizeof o;
  o.execution_precision = nullptr;
  runtime::ShapeRunnerConfig config = capi::read_shape_runner_options(&o, model);
  const bool ahead = !model->image.program->main.empty();
  const program::OpenShapes& open = shapes->shapes();
  return std::make_unique<runtime::ShapeRunner>(
      open,
      [compiler = std::move(shapes)](const std::vector<Shape>& inputs) {
        return compiler->compile(inputs);
      },
      ahead ? model : nullptr, std::move(config));
}

// The sets of shapes in the text of warm_up.
std::vector<std::map<std::string, Shape>> shape_sets(const char* text) {
  std::map<std::string, std::vector<Shape>> given;
  size_t count = 1;
  for (const std::string_view line : capi::split_lines(text, "shapes")) {
    auto [name, shapes] = capi::parse_shapes(line);
    if (shapes.size() > 1 && count > 1 && shapes.size() != count)
      fail(ErrorCode::invalid_argument, "`shapes`: '{}' has {} shapes, another input has {}", name,
           shapes.size(), count);
    count = std::max(count, shapes.size());
    if (!given.emplace(name, std::move(shapes)).second)
      fail(ErrorCode::invalid_argument, "`shapes`: '{}' is given twice", name);
  }
  std::vector<std::map<std::string, Shape>> sets(count);
  for (const auto& [name, shapes] : given)
    for (size_t i = 0; i < count; i++) sets[i][name] = shapes[shapes.size() == 1 ? 0 : i];
  return sets;
}

poprt_runner_counters to_counters(const runtime::RunnerStatistics& s, size_t replicas) {
  poprt_runner_counters c{};
  // <counters:copies> made from capi/counters.toml by tests/lint/counter_fields.py --write
  c.submitted = s.submitted;
  c.completed = s.completed;
  c.failed = s.failed;
  c.cancelled = s.cancelled;
  c.timed_out = s.timed_out;
  c.rows = s.rows;
  c.padded_rows = s.padded_rows;
  c.batches = s.batches;
  c.steps = s.steps;
  c.device_errors = s.device_errors;
  c.resets = s.resets;
  c.in_flight = s.in_flight;
  c.queue_capacity = s.queue_capacity;
  c.latency_count = s.latency.count;
  c.latency_total_ns = s.latency.total_ns;
  c.latency_max_ns = s.latency.max_ns;
  c.latency_p50_ns = s.latency.quantile_ns(0.5);
  c.latency_p99_ns = s.latency.quantile_ns(0.99);
  c.replicas = replicas;
  // </counters:copies>
  static_assert(POPRT_LATENCY_BUCKETS == runtime::LatencyHistogram::kBuckets);
  std::copy(s.latency.counts.begin(), s.latency.counts.end(), c.latency_buckets);
  return c;
}

}  // namespace

poprt_error* poprt_runner_create(const poprt_executable* executable,
                                 const poprt_runner_options* options, poprt_runner** out_runner) {
  return capi::guard([&] {
    const auto& given = capi::required(executable, "executable");
    auto& out = capi::required(out_runner, "out_runner");
    if (auto made = shape_runner(given, options)) {
      auto* const ahead = made->ahead();
      out = new poprt_runner{std::move(made), ahead, nullptr};
      return;
    }
    auto model = given.compiled();
    auto config = capi::read_runner_options(options, model);
    // The kind of runner depends on the executable, so callers need not know whether it contains
    // several models or shapes.
    if (model->variants) {
      std::unique_ptr<runtime::BaseRunner> several;
      if (model->variants->kind == runtime::Variants::Kind::graphs)
        several = std::make_unique<runtime::ModelFusionRunner>(model, std::move(config));
      else
        several = std::make_unique<runtime::BucketRunner>(model, std::move(config));
      out = new poprt_runner{std::move(several)};
      return;
    }
    auto made = std::make_unique<runtime::ModelRunner>(model, std::move(config));
    auto* const same = made.get();
    out = new poprt_runner{std::move(made), same, nullptr};
  });
}

size_t poprt_runner_input_count(const poprt_runner* runner) {
  return runner ? runner->runner->execute_inputs().size() : 0;
}

size_t poprt_runner_output_count(const poprt_runner* runner) {
  return runner ? runner->runner->execute_outputs().size() : 0;
}

const poprt_anchor* poprt_runner_input(const poprt_runner* runner, size_t index) {
  return runner ? at(runner->runner->execute_inputs(), index) : nullptr;
}

const poprt_anchor* poprt_runner_output(const poprt_runner* runner, size_t index) {
  return runner ? at(runner->runner->execute_outputs(), index) : nullptr;
}

int32_t poprt_runner_input_has_data(const poprt_runner* runner, size_t index) {
  return runner && index < runner->runner->execute_inputs().size() &&
         runner->runner->execute_inputs()[index].popef_contains_tensor_data;
}

poprt_error* poprt_runner_input_index(const poprt_runner* runner, const char* name,
                                      size_t* out_index) {
  return capi::guard([&] {
    const auto& r = *capi::required(runner, "runner").runner;
    capi::required(out_index, "out_index") = index_of(r.execute_inputs(), name, "input");
  });
}

poprt_error* poprt_runner_output_index(const poprt_runner* runner, const char* name,
                                       size_t* out_index) {
  return capi::guard([&] {
    const auto& r = *capi::required(runner, "runner").runner;
    capi::required(out_index, "out_index") = index_of(r.execute_outputs(), name, "output");
  });
}

poprt_error* poprt_runner_execute(poprt_runner* runner, const poprt_input* inputs,
                                  size_t input_count, const poprt_output* outputs,
                                  size_t output_count) {
  return capi::guard([&] {
    auto& r = *capi::required(runner, "runner").runner;
    const Inputs in(inputs, input_count, "inputs");
    const Outputs out(outputs, output_count, "outputs");
    r.execute(in.span(), out.span());
  });
}

poprt_error* poprt_runner_execute_indexed(poprt_runner* runner, const void* const* inputs,
                                          void* const* outputs) {
  return capi::guard([&] {
    const poprt_runner& r = capi::required(runner, "runner");
    auto* const model = r.model;
    if (!model && dynamic_cast<const runtime::ShapeRunner*>(r.runner.get()))
      fail(ErrorCode::unimplemented,
           "no shape was compiled ahead, so that the sizes of the pointers are unknown: give "
           "`input_shapes` or `batch_size`, or name the anchors");
    if (!model)
      fail(ErrorCode::unimplemented, "only a model runner executes by position: name the anchors");
    model->execute(inputs, outputs);
  });
}

poprt_error* poprt_runner_execute_async(poprt_runner* runner, const poprt_input* inputs,
                                        size_t input_count, const poprt_output* outputs,
                                        size_t output_count, poprt_request_fn callback,
                                        void* user_data, poprt_request** out_request) {
  poprt_request_options options{};
  options.struct_size = sizeof options;
  options.callback = callback;
  options.user_data = user_data;
  return poprt_runner_submit(runner, inputs, input_count, outputs, output_count, &options,
                             out_request);
}

poprt_error* poprt_runner_submit(poprt_runner* runner, const poprt_input* inputs,
                                 size_t input_count, const poprt_output* outputs,
                                 size_t output_count, const poprt_request_options* options,
                                 poprt_request** out_request) {
  return capi::guard([&] {
    auto& r = *capi::required(runner, "runner").runner;
    const capi::Submission o(options, out_request);
    const Inputs in(inputs, input_count, "inputs");
    const Outputs out(outputs, output_count, "outputs");
    o.return_request(r.execute_async(in.span(), out.span(), o.callback, o.options), out_request);
  });
}

int32_t poprt_request_cancel(poprt_request* request) {
  return request && capi::from_handle(request)->cancel();
}

poprt_error* poprt_request_wait(poprt_request* request, int64_t timeout_ns) {
  return capi::guard([&] {
    auto& r = *capi::from_handle(&capi::required(request, "request"));
    std::optional<std::chrono::nanoseconds> timeout;
    if (timeout_ns >= 0) timeout = std::chrono::nanoseconds(timeout_ns);
    if (!r.wait(timeout))
      fail(ErrorCode::deadline_exceeded, "the request is not done after {} ns", timeout_ns);
    r.check();
  });
}

int32_t poprt_request_done(const poprt_request* request) {
  return !request || reinterpret_cast<const runtime::Request*>(request)->done();
}

void poprt_request_free(poprt_request* request) {
  if (request) capi::from_handle(request)->release();
}

poprt_error* poprt_runner_statistics(poprt_runner* runner, poprt_string** out_json) {
  return capi::guard([&] {
    auto& r = capi::required(runner, "runner");
    auto& out = capi::required(out_json, "out_json");
    nlohmann::ordered_json json = to_json(r.runner->statistics());
    json["replicas"] = nlohmann::ordered_json::array();
    for (size_t i = 0; i < r.runner->replicas(); i++)
      json["replicas"].push_back(to_json(r.runner->statistics(i)));
    if (const auto* fused = dynamic_cast<const runtime::ModelFusionRunner*>(r.runner.get()))
      json["graph_requests"] = fused->graph_requests();
    if (const auto* buckets = dynamic_cast<const runtime::BucketRunner*>(r.runner.get()))
      json["shape_buckets"] = to_json(*buckets);
    if (const auto* shapes = dynamic_cast<const runtime::ShapeRunner*>(r.runner.get()))
      json["shapes"] = to_json(*shapes);
    out = capi::make_string(json_text(json, 2));
  });
}

poprt_error* poprt_runner_warm_up(poprt_runner* runner, const char* shapes) {
  return capi::guard([&] {
    auto* const r =
        dynamic_cast<runtime::ShapeRunner*>(capi::required(runner, "runner").runner.get());
    const auto sets = shape_sets(&capi::required(shapes, "shapes"));
    if (!r)
      fail(ErrorCode::unimplemented,
           "the shapes of this runner are fixed: only a runner of an ONNX model with variable "
           "dimensions compiles shapes on demand (`shapes` on_demand)");
    for (const auto& set : sets) r->warm_up(set);
  });
}

poprt_error* poprt_runner_open_dimensions(const poprt_runner* runner, poprt_string** out_json) {
  return capi::guard([&] {
    const auto& r = *capi::required(runner, "runner").runner;
    auto& out = capi::required(out_json, "out_json");
    const auto* const open = dynamic_cast<const runtime::ShapeRunner*>(&r);
    nlohmann::ordered_json json = {{"on_demand", open != nullptr}};
    json["inputs"] =
        open ? open_dimensions(open->open_shapes().inputs) : open_dimensions(r.execute_inputs());
    json["outputs"] =
        open ? open_dimensions(open->open_shapes().outputs) : open_dimensions(r.execute_outputs());
    out = capi::make_string(json_text(json, 2));
  });
}

poprt_error* poprt_runner_get_counters(poprt_runner* runner, int64_t replica,
                                       poprt_runner_counters* out_counters) {
  return capi::guard([&] {
    const auto& r = *capi::required(runner, "runner").runner;
    if (replica < POPRT_ALL_REPLICAS)
      fail(ErrorCode::invalid_argument,
           "there is no replica {}: expected a number from 0 on, or -1 for all", replica);
    const auto index = static_cast<size_t>(replica);
    const auto counters = replica == POPRT_ALL_REPLICAS ? to_counters(r.statistics(), r.replicas())
                                                        : to_counters(r.statistics(index), 1);
    capi::write_struct(out_counters, counters, "out_counters", "poprt_runner_counters");
  });
}

poprt_error* poprt_runner_tracepoints(poprt_runner* runner, poprt_string** out_json) {
  return capi::guard([&] {
    auto& r = *capi::required(runner, "runner").runner;
    auto& out = capi::required(out_json, "out_json");
    auto json = nlohmann::ordered_json::array();
    for (const runtime::Tracepoint& t : r.tracepoints()) {
      nlohmann::ordered_json row{{"request", t.request},
                                 {"rows", t.rows},
                                 {"replica", t.replica},
                                 {"code", static_cast<int>(t.code)}};
      for (size_t i = 0; i < t.ns.size(); i++) row[runtime::kStageNames[i]] = t.ns[i];
      json.push_back(std::move(row));
    }
    out = capi::make_string(json_text(json, 2));
  });
}

void poprt_runner_stop(poprt_runner* runner) {
  if (runner) runner->runner->stop();
}

void poprt_runner_drain(poprt_runner* runner) {
  if (runner) runner->runner->drain();
}

poprt_error* poprt_runner_profile(poprt_runner* runner, poprt_string** out_json) {
  return capi::guard([&] {
    auto* const model = capi::required(runner, "runner").model;
    auto& out = capi::required(out_json, "out_json");
    if (!model)
      fail(ErrorCode::unimplemented,
           "there is no profile: the model has several shapes or graphs, or the runner compiles "
           "shapes on demand, or packs or joins requests; compile one model at one shape, and run "
           "it with a model runner");
    out = capi::make_profile(model->profile());
  });
}

void poprt_runner_free(poprt_runner* runner) { delete runner; }
