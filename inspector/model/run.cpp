#include "model/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "compiler/flow/specialize.h"
#include "model/format.h"
#include "runtime/runner/pack_description.h"
#include "runtime/session/popef_file.h"
#include "runtime/session/variants.h"

namespace poprt::inspector {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLook = std::chrono::milliseconds(20);  // between two checks of `cancel`

double milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

// The memory of one request, bound to the names of the model.
struct Memory {
  std::vector<Tensor> inputs, outputs;
  std::vector<runtime::InputBinding> in;
  std::vector<runtime::OutputBinding> out;
};

void refuse_unknown(const std::vector<program::Anchor>& anchors, const InputChoices& choices) {
  for (const auto& [name, _] : choices) {
    std::vector<std::string> names;
    for (const auto& a : anchors) names.push_back(printable(a.name));
    if (std::find(names.begin(), names.end(), printable(name)) == names.end())
      fail(ErrorCode::not_found, "the model has no input '{}'; it has: {}", printable(name),
           fmt::join(names, ", "));
  }
}

// Inputs and outputs of one variant, and the values of the inputs.
struct RequestOf {
  std::vector<program::Anchor> inputs, outputs;
  std::vector<Tensor> values;
};

Memory memory_of(const RequestOf& request) {
  Memory m;
  m.inputs = request.values;
  for (size_t i = 0; i < request.inputs.size(); i++) {
    const Shape& shape = request.inputs[i].shape;
    m.in.push_back({request.inputs[i].name, 0, m.inputs[i].data(), m.inputs[i].bytes(),
                    shape.data(), shape.size()});
  }
  for (const program::Anchor& a : request.outputs) {
    m.outputs.push_back(Tensor::zeros(a.dtype, a.shape));
    m.out.push_back({a.name, 0, m.outputs.back().mutable_data(), m.outputs.back().bytes()});
  }
  return m;
}

// Lengths of sequences that fill the rows of a packed model, because random lengths would not fit.
Tensor equal_lengths(const program::Anchor& lengths, const runtime::PackDescription& packing,
                     const std::vector<program::Anchor>& inputs) {
  Tensor made = Tensor::zeros(lengths.dtype, lengths.shape);
  int64_t room = 0;
  for (const program::Anchor& a : inputs)
    if (std::find(packing.dynamic.begin(), packing.dynamic.end(), a.name) !=
            packing.dynamic.end() &&
        a.shape.size() >= 2)
      room = a.shape[0] * a.shape[1];
  const size_t segments = packing.segment_max_size.size();
  if (lengths.dtype != DType::s32 || made.count() == 0 || segments == 0) return made;
  auto* out = static_cast<int32_t*>(made.mutable_data());
  for (int64_t i = 0; i < made.count(); i++)
    out[i] = static_cast<int32_t>(
        std::min<uint64_t>(packing.segment_max_size[static_cast<size_t>(i) % segments],
                           static_cast<uint64_t>(room / made.count())));
  return made;
}

RequestOf request_of(const runtime::Model& model, size_t variant, const InputChoices& choices,
                     uint64_t seed) {
  RequestOf request{inputs_to_give(model, variant), outputs_to_get(model, variant), {}};
  refuse_unknown(request.inputs, choices);
  const auto packing = runtime::pack_description(model);
  for (size_t i = 0; i < request.inputs.size(); i++) {
    const program::Anchor& input = request.inputs[i];
    const auto found = choices.find(input.name);
    const InputChoice choice = found == choices.end() ? InputChoice{} : found->second;
    request.values.push_back(packing && input.name == packing->unpack_info &&
                                     choice.kind == InputKind::random
                                 ? equal_lengths(input, *packing, request.inputs)
                                 : input_tensor(input, choice, seed + i));
  }
  return request;
}

void wait_for(runtime::BaseRunner& runner, runtime::Request& request, Progress& progress,
              std::string_view what) {
  while (!request.wait(kLook)) {
    if (!progress.cancel.load(std::memory_order_relaxed)) continue;
    runner.stop();
    progress.step(1, what);  // throws if cancelled
  }
  request.check();
}

// The first `extent` elements of each dimension.
Tensor leading_part(const Tensor& whole, const Shape& extent) {
  if (whole.shape() == extent || extent.empty() || dtype_bits(whole.dtype()) % 8 != 0) return whole;
  Tensor part = Tensor::zeros(whole.dtype(), extent);
  const auto element = static_cast<size_t>(dtype_bits(whole.dtype()) / 8);
  const auto run = static_cast<size_t>(extent.back()) * element;
  const int64_t rows = extent.back() == 0 ? 0 : part.count() / extent.back();
  for (int64_t row = 0; row < rows; row++) {
    int64_t rest = row, from = 0, stride = whole.shape().back();
    for (size_t d = extent.size() - 1; d-- > 0;) {
      from += rest % extent[d] * stride;
      rest /= extent[d];
      stride *= whole.shape()[d];
    }
    std::memcpy(static_cast<std::byte*>(part.mutable_data()) + static_cast<size_t>(row) * run,
                static_cast<const std::byte*>(whole.data()) + static_cast<size_t>(from) * element,
                run);
  }
  return part;
}

std::vector<NamedTensor> results_of(const RequestOf& request, const Memory& m) {
  std::vector<NamedTensor> results;
  const auto& anchors = request.outputs;
  for (size_t i = 0; i < anchors.size(); i++) {
    Tensor t = m.outputs[i];
    for (size_t k = 0; k < anchors.size(); k++) {
      if (anchors[k].name != anchors[i].name + std::string(compiler::kShapeSuffix) ||
          anchors[k].dtype != DType::s64 ||
          m.outputs[k].count() != static_cast<int64_t>(t.shape().size()))
        continue;
      Shape extent = m.outputs[k].to_int64s();
      for (size_t d = 0; d < extent.size(); d++)
        extent[d] = std::clamp<int64_t>(extent[d], 0, t.shape()[d]);
      t = leading_part(t, extent);
    }
    results.push_back({printable(anchors[i].name), std::move(t)});
  }
  return results;
}

}  // namespace

std::shared_ptr<const runtime::Model> model_to_run(const Document& document,
                                                   const Compilation* compilation,
                                                   Progress& progress,
                                                   const std::string& executable) {
  if (document.popef) {
    runtime::OpenOptions options;
    options.executable = executable;
    return runtime::open_popef(document.path, options);
  }
  if (!document.ir)
    fail(ErrorCode::invalid_argument, "{} is a {} and cannot be run", document.title(),
         document_kind_name(document.kind));
  Compilation made;
  if (!compilation) {
    std::string assumed;
    made = compile_with_history(
        *document.ir, options_for_inspection(*document.ir, assumed), &progress.cancel,
        [&](double done, std::string_view what) { progress.step(done, what); });
    made.error = error_with_assumed(made.error, assumed);
    compilation = &made;
  }
  if (!compilation->program)
    fail(ErrorCode::failed_precondition, "{} does not compile: {}", document.title(),
         compilation->error);
  auto loaded = program::load_in_memory(*compilation->program, compilation->weights);
  device::Image image;
  image.program = std::make_shared<program::Program>(std::move(loaded.program));
  image.weights = loaded.weights;
  image.owner = std::move(loaded.owner);
  auto model =
      std::make_shared<runtime::Model>(*runtime::make_model(document.title(), std::move(image)));
  model->opaque = compilation->notes;
  runtime::read_variants(*model);
  runtime::read_onnx_metadata(*model);
  return model;
}

namespace {

// The repeated runs end after kWarmMs or kMostWarmRuns runs. A first run of at least kLongMs is not
// repeated.
constexpr double kWarmMs = 200, kLongMs = 2000;
constexpr int kMostWarmRuns = 20;

void measure_warm(runtime::BaseRunner& runner, Memory m, Progress& progress, RunResult& result) {
  std::vector<double> times;
  const auto begin = Clock::now();
  while (times.empty() ? result.run_ms < kLongMs
                       : times.size() < kMostWarmRuns && milliseconds(begin) < kWarmMs) {
    const auto run = Clock::now();
    wait_for(runner, *runner.execute_async(m.in, m.out), progress, "measuring");
    times.push_back(milliseconds(run));
  }
  if (times.empty()) return;
  std::sort(times.begin(), times.end());
  result.warm_ms = times[times.size() / 2];
  result.warm_runs = static_cast<int>(times.size());
}

}  // namespace

RunResult run_model(const std::shared_ptr<const runtime::Model>& model, const InputChoices& choices,
                    uint64_t seed, Progress& progress, size_t variant) {
  RunResult result;
  progress.step(0.1, "reading inputs");
  const RequestOf request = request_of(*model, variant, choices, seed);
  Memory m = memory_of(request);
  progress.step(0.3, "loading the program");
  const auto begin = Clock::now();
  runtime::RunnerConfig config;
  config.batches_per_step = 1;  // with several, a step would wait for more requests
  const auto runner = runner_of(model, config);
  result.load_ms = milliseconds(begin);
  progress.step(0.6, "running");
  const auto run = Clock::now();
  const auto going = runner->execute_async(m.in, m.out);
  wait_for(*runner, *going, progress, "running");
  result.run_ms = milliseconds(run);
  for (size_t i = 0; i < request.inputs.size(); i++)
    result.inputs.push_back({printable(request.inputs[i].name), m.inputs[i]});
  result.outputs = results_of(request, m);
  measure_warm(*runner, memory_of(request), progress, result);
  return result;
}

double BenchResult::latency(double q) const {
  if (latency_ms.empty()) return 0;
  return latency_ms[std::min(latency_ms.size() - 1,
                             static_cast<size_t>(q * static_cast<double>(latency_ms.size())))];
}

namespace {

// A thread that keeps `in_flight` requests running and records (end, latency) of each in
// milliseconds.
class Client {
 public:
  Client(runtime::BaseRunner& runner, const RequestOf& request, int in_flight) : runner_(runner) {
    for (int i = 0; i < in_flight; i++) slots_.push_back({memory_of(request), {}, {}});
  }
  // After an error the runner may still use the memory of other requests.
  ~Client() {
    for (const Slot& s : slots_)
      while (s.request && !s.request->wait(kLook)) continue;
  }
  Client(Client&&) = default;

  void work(Clock::time_point begin, Clock::time_point until, const std::atomic<bool>& stop) {
    bool more = true;
    for (size_t i = 0, idle = 0; idle < slots_.size(); i = (i + 1) % slots_.size()) {
      Slot& s = slots_[i];
      if (s.request) {
        while (!s.request->wait(kLook)) {
        }
        s.request->check();
        const auto end = Clock::now();
        using Ms = std::chrono::duration<double, std::milli>;
        done.emplace_back(Ms(end - begin).count(), Ms(end - s.start).count());
        s.request = {};
      }
      more = more && !stop.load(std::memory_order_relaxed) && Clock::now() < until;
      if (!more) {
        idle++;
        continue;
      }
      s.start = Clock::now();
      s.request = runner_.execute_async(s.memory.in, s.memory.out);
    }
  }

  std::vector<std::pair<double, double>> done;

 private:
  struct Slot {
    Memory memory;
    runtime::RequestPtr request;
    Clock::time_point start;
  };
  runtime::BaseRunner& runner_;
  std::vector<Slot> slots_;
};

void check_range(const char* name, int value, int most) {
  if (value < 1 || value > most)
    fail(ErrorCode::invalid_argument, "{}: expected 1 to {}, found {}", name, most, value);
}

}  // namespace

BenchResult bench_model(const std::shared_ptr<const runtime::Model>& model,
                        const InputChoices& choices, uint64_t seed, const BenchSettings& settings,
                        Progress& progress) {
  check_range("clients", settings.clients, BenchSettings::kMostClients);
  check_range("requests in flight", settings.in_flight, BenchSettings::kMostInFlight);
  progress.step(0, "reading inputs");
  const RequestOf request = request_of(*model, settings.variant, choices, seed);
  runtime::RunnerConfig config;
  config.session.telemetry = true;
  config.session.load.threads = settings.threads;
  const auto runner = runner_of(model, config);
  {
    Memory m = memory_of(request);  // the first run loads the pages of the weights
    wait_for(*runner, *runner->execute_async(m.in, m.out), progress, "the first run");
  }
  std::vector<Client> clients;
  for (int i = 0; i < settings.clients; i++)
    clients.emplace_back(*runner, request, settings.in_flight);
  const auto begin = Clock::now();
  const auto until = begin + std::chrono::duration_cast<Clock::duration>(
                                 std::chrono::duration<double>(settings.seconds));
  std::atomic<bool> stop{false};
  std::atomic<size_t> running{clients.size()};
  std::mutex mutex;
  std::string error;
  std::vector<std::jthread> threads;  // joined even if not all threads can be started
  for (Client& c : clients)
    threads.emplace_back([&] {
      try {
        c.work(begin, until, stop);
      } catch (const std::exception& e) {
        const std::lock_guard lock(mutex);
        if (error.empty()) error = e.what();
        stop.store(true, std::memory_order_relaxed);
      }
      running.fetch_sub(1, std::memory_order_release);
    });
  while (running.load(std::memory_order_acquire) > 0) {
    std::this_thread::sleep_for(kLook);
    try {
      progress.step(std::min(1.0, milliseconds(begin) / 1e3 / settings.seconds), "benchmark");
    } catch (const Error&) {
      stop.store(true, std::memory_order_relaxed);
      runner->stop();
    }
  }
  for (std::jthread& t : threads) t.join();
  progress.step(1, "benchmark");
  if (!error.empty()) fail(ErrorCode::unavailable, "{}", error);

  BenchResult result;
  result.seconds = milliseconds(begin) / 1e3;
  size_t requests = 0;
  for (const Client& c : clients) requests += c.done.size();
  // Each slice should contain several requests, so that the curve is meaningful.
  const size_t slices = std::clamp<size_t>(requests / 8, 1, BenchResult::kMostSlices);
  result.throughput.assign(slices, 0);
  const double slice = result.seconds * 1e3 / static_cast<double>(slices);
  for (const Client& c : clients)
    for (const auto& [end, latency] : c.done) {
      result.latency_ms.push_back(latency);
      result.throughput[std::min(slices - 1, static_cast<size_t>(end / slice))] += 1e3 / slice;
    }
  result.requests = result.latency_ms.size();
  std::sort(result.latency_ms.begin(), result.latency_ms.end());
  return result;
}

}  // namespace poprt::inspector
