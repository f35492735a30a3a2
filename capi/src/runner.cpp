#include "poprt/runner.h"

#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "guard.h"

using namespace poprt;

namespace {

// Bindings of one call: on the stack, unless there are very many.
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

// A caller's callback until it is called.
struct Callback {
  poprt_request_fn call;
  void* user_data;
};

}  // namespace

poprt_error* poprt_runner_create(const poprt_executable* executable,
                                 const poprt_runner_options* options, poprt_runner** out_runner) {
  return capi::guard([&] {
    const auto& model = capi::required(executable, "executable").model;
    const auto o = capi::read_options(options, "poprt_runner_options");
    auto& out = capi::required(out_runner, "out_runner");
    runtime::RunnerConfig config;
    config.session.load = {o.threads, o.profile != 0};
    if (o.device) config.session.device = o.device->device;
    if (o.queue_depth) config.queue_depth = static_cast<size_t>(std::max(o.queue_depth, 0));
    out = new poprt_runner{runtime::ModelRunner(model, std::move(config))};
  });
}

size_t poprt_runner_input_count(const poprt_runner* runner) {
  return runner ? runner->runner.model().inputs().size() : 0;
}

size_t poprt_runner_output_count(const poprt_runner* runner) {
  return runner ? runner->runner.model().outputs().size() : 0;
}

const poprt_anchor* poprt_runner_input(const poprt_runner* runner, size_t index) {
  return runner ? capi::anchor_at(runner->runner.model().inputs(), index) : nullptr;
}

const poprt_anchor* poprt_runner_output(const poprt_runner* runner, size_t index) {
  return runner ? capi::anchor_at(runner->runner.model().outputs(), index) : nullptr;
}

poprt_error* poprt_runner_execute(poprt_runner* runner, const poprt_input* inputs,
                                  size_t input_count, const poprt_output* outputs,
                                  size_t output_count) {
  return capi::guard([&] {
    auto& r = capi::required(runner, "runner").runner;
    const Inputs in(inputs, input_count, "inputs");
    const Outputs out(outputs, output_count, "outputs");
    r.execute(in.span(), out.span());
  });
}

poprt_error* poprt_runner_execute_indexed(poprt_runner* runner, const void* const* inputs,
                                          void* const* outputs) {
  return capi::guard([&] { capi::required(runner, "runner").runner.execute(inputs, outputs); });
}

poprt_error* poprt_runner_execute_async(poprt_runner* runner, const poprt_input* inputs,
                                        size_t input_count, const poprt_output* outputs,
                                        size_t output_count, poprt_request_fn callback,
                                        void* user_data, poprt_request** out_request) {
  return capi::guard([&] {
    auto& r = capi::required(runner, "runner").runner;
    if (!callback) capi::required(out_request, "out_request");
    const Inputs in(inputs, input_count, "inputs");
    const Outputs out(outputs, output_count, "outputs");
    auto handle = out_request ? std::make_unique<poprt_request>() : nullptr;
    runtime::RequestCallback done;
    std::unique_ptr<Callback> context;
    if (callback) {
      context = std::make_unique<Callback>(Callback{callback, user_data});
      done = {[](void* c, ErrorCode code) noexcept {
                const std::unique_ptr<Callback> mine(static_cast<Callback*>(c));
                mine->call(static_cast<poprt_error_code>(code), mine->user_data);
              },
              context.get()};
    }
    auto request = r.execute_async(in.span(), out.span(), done);
    static_cast<void>(context.release());  // the callback's, which may have run already
    if (handle) {
      handle->request = std::move(request);
      *out_request = handle.release();
    }
  });
}

poprt_error* poprt_request_wait(poprt_request* request, int64_t timeout_ns) {
  return capi::guard([&] {
    auto& r = *capi::required(request, "request").request;
    std::optional<std::chrono::nanoseconds> timeout;
    if (timeout_ns >= 0) timeout = std::chrono::nanoseconds(timeout_ns);
    if (!r.wait(timeout))
      fail(ErrorCode::deadline_exceeded, "the request is not done after {} ns", timeout_ns);
    r.check();
  });
}

int32_t poprt_request_done(const poprt_request* request) {
  return !request || request->request->done();
}

void poprt_request_free(poprt_request* request) { delete request; }

void poprt_runner_stop(poprt_runner* runner) {
  if (runner) runner->runner.stop();
}

poprt_error* poprt_runner_profile(poprt_runner* runner, poprt_string** out_json) {
  return capi::guard([&] {
    auto& r = capi::required(runner, "runner").runner;
    auto& out = capi::required(out_json, "out_json");
    const auto rows = r.profile();
    nlohmann::ordered_json json;
    json["runs"] = rows.empty() ? 0 : rows[0].runs;
    json["instructions"] = nlohmann::ordered_json::array();
    for (const auto& row : rows)
      json["instructions"].push_back({{"name", row.name},
                                      {"kernel", row.kernel},
                                      {"runs", row.runs},
                                      {"total_ns", row.total_ns},
                                      {"min_ns", row.min_ns},
                                      {"parallel", row.parallel}});
    // Names come from files and need not be UTF-8.
    out = capi::make_string(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  });
}

void poprt_runner_free(poprt_runner* runner) { delete runner; }
