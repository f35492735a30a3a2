// Runners: models on devices that compute requests.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <future>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "poprt/anchor.hpp"
#include "poprt/device.hpp"
#include "poprt/error.hpp"
#include "poprt/executable.hpp"
#include "poprt/runner.h"
#include "poprt/runners.h"
#include "poprt/tensor.h"
#include "poprt/tensor.hpp"

namespace model_runtime {

using ::poprt::DataDesc;
using ::poprt::InputDesc;
using ::poprt::OutputDesc;

// A duration in nanoseconds, which is also read and written as a number.
class Nanoseconds {
 public:
  constexpr Nanoseconds() = default;
  constexpr Nanoseconds(std::chrono::nanoseconds value) : value_(value) {}
  template <class Rep, class Period>
  constexpr Nanoseconds(std::chrono::duration<Rep, Period> value) : value_(value) {}
  template <class Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
  constexpr Nanoseconds(Integer value) : value_(static_cast<int64_t>(value)) {}
  constexpr int64_t count() const { return value_.count(); }
  constexpr operator int64_t() const { return value_.count(); }
  constexpr operator std::chrono::nanoseconds() const { return value_; }
  template <class Rep, class Period>
  constexpr bool operator==(std::chrono::duration<Rep, Period> other) const {
    return value_ == other;
  }
  template <class Rep, class Period>
  constexpr bool operator!=(std::chrono::duration<Rep, Period> other) const {
    return value_ != other;
  }

 private:
  std::chrono::nanoseconds value_{0};
};

enum class RunnerType : int32_t { ModelRunner = 0, PackRunner, ModelFusionRunner };

// The counters of a runner: submitted, completed, latency_p99_ns ... (poprt/runner.h).
using RunnerCounters = poprt_runner_counters;

using ReplicaIdToDevice = std::map<int64_t, std::shared_ptr<Device>>;

// PopRT's fields with its defaults. `threads`, `profile`, `device` (of replica 0), `queueDepth`,
// `replicationFactor`, `frozenInputs`, `overlapIO`, `batchesPerStep` and the fields from `faults`
// on are additions.
struct RuntimeConfig {
  static constexpr int64_t kNever = INT64_MAX;

  // <options:runner> made from capi/option_fields.toml by tests/lint/option_fields.py --write
  // Compute threads. Results are bit-equal for any number. 0: POPRT_THREADS from the environment,
  // or all CPUs. Since 0.1.
  int32_t threads = 0;
  // Whether to measure the time of every instruction, which profile() returns. Runs are slower.
  // Since 0.1.
  bool profile = false;
  // The device to run on. Null: any free device. Since 0.1.
  std::shared_ptr<Device> device;
  // How many requests per replica may be in the queue; see executeAsync(). 0: the size of the ring.
  // Since 0.1.
  int32_t queueDepth = 0;
  // The kind of runner. A runner of fused models finds the model by the names of a request. Since
  // 0.1.
  RunnerType runnerType = RunnerType::ModelRunner;
  // How long to try again while no device is free, and how long to sleep between two attempts.
  // Default: 1 and 6 seconds. Since 0.1.
  DeviceWaitConfig deviceWaitConfig{std::chrono::seconds(1), std::chrono::seconds(6)};
  // Whether several threads may use the runner at once. Off saves a lock. Since 0.1.
  bool threadSafe = true;
  // How long a batch that has some rows waits for more before it is padded with zeros. 0: without
  // limit; 10 ms, the default: it does not wait, but runs as soon as the device is idle, and rows
  // are gathered while the device is busy. Nanoseconds. Since 0.1.
  Nanoseconds timeoutNS = 10'000'000;
  // Whether each run checks names and sizes. Without the checks, unknown names are ignored, missing
  // inputs are zeros, missing outputs are dropped, the size of the first binding determines the
  // number of rows, and others may be larger. Fused and conditional models need this. Since 0.1.
  bool validateIOParams = true;
  // The dimension along which requests may have any size. UINT32_MAX: none; requests are whole
  // compiled batches. Since 0.1.
  uint32_t batchingDim = UINT32_MAX;
  // Whether files that another version compiled are refused. Since 0.1.
  bool checkPackageHash = true;
  // The ring has places for this number times the rows of a step; without a batching dimension a
  // row is a batch. With 2, the ring has at least 64 places. Since 0.1.
  int32_t ringBufferSizeMultiplier = 2;
  // Whether the device is reset after an error that a reset repairs. Since 0.1.
  bool autoReset = false;
  // Whether a batch is padded only while a caller waits for one of its requests or has given a
  // callback for it. Without a limit by the timeout, a batch is then padded at once. This also
  // records tracepoints. Since 0.1.
  bool flushOnWaitingOutputs = false;
  // How long a batch waits, from its first row until it is padded. With it, the default of timeout
  // has no effect. Nanoseconds. Since 0.1.
  Nanoseconds batchSizeTimeoutNS = kNever;
  // How long a step waits, from its first complete batch until it runs without the missing batches.
  // Nanoseconds. Since 0.1.
  Nanoseconds dataParallelTimeoutNS = kNever;
  // Whether the timeouts of batches and of steps are used. Since 0.1.
  bool isBatchSizeTimeoutEnabled = false;
  // How many of the last requests tracepoints() reports. 0: all. Since 0.1.
  int64_t requestTracepointsBufferSize = 1000;
  // Devices of the replicas, which are counted from 0. None given: any free devices. Since 0.1.
  ReplicaIdToDevice replicaIdToDevice;
  // Rows that pad batches instead of zeros, and memory for their results, by name, for all inputs
  // of requests and all outputs. The memory must stay valid while the runner exists. Since 0.1.
  std::pair<InputMemoryView, OutputMemoryView> flushByName;
  // Number of copies of the model, each on a different device. Since 0.1.
  int32_t replicationFactor = 1;
  // Constant values of inputs, which requests then leave out. The values are copied. Since 0.1.
  InputMemoryView frozenInputs;
  // Whether separate threads copy the inputs of the next step and the outputs of the last step
  // while a step computes. An executable that was compiled with num_io_tiles turns this on. Since
  // 0.1.
  bool overlapIO = false;
  // Number of batches in a step. Submitted requests wait, within the timeouts, until a step is
  // full; whole batches of a call that waits for its result do not. 0: the executable's number.
  // Since 0.1.
  int64_t batchesPerStep = 0;
  // Device errors to inject, for tests: "CLASS[:ACTION][@RUN][*COUNT][/REPLICA];...", see
  // capi/ABI.md. "": POPRT_INJECT_FAULTS from the environment. Since 1.0.
  std::string faults;
  // Whether to publish the runner's activity, as POPRT_TELEMETRY=1 does; see readTelemetry(). Since
  // 1.0.
  bool telemetry = false;
  // The precision of products with constant weights: "f32"; "bf16", which rounds both factors;
  // "f16", which rounds the weights of MatMul and Gemm, and both factors on CPUs with AVX512-FP16;
  // or "auto", which is bf16 for weights that bf16 represents, and f16 for those that are stored as
  // f16. Weights are packed once and kept in the cache folder: POPXL_CACHE_DIR or POPART_CACHE_DIR,
  // else poprt in XDG_CACHE_HOME or ~/.cache. "": that of the executable. Since 1.0.
  std::string executionPrecision;
  // The arithmetic: "fast"; "faithful", which rounds as the chip does and gives NaN when a half
  // overflows; or "saturating", which differs from faithful in that an overflow gives the greatest
  // half. With a seed, as in "faithful:7", halves are rounded stochastically, and equal runs have
  // equal results. The last two are slow and need an executable that was compiled with the option
  // numerics=faithful. "": "fast". Since 1.0.
  std::string numerics;
  // Which processes share the devices of the replicas: "0": none; "1": all processes of the user;
  // an absolute path: all processes that give the same folder. Two replicas never have the same
  // device, even in different processes. "": POPRT_SHARED_DEVICES from the environment, or none.
  // Since 1.0.
  std::string sharedDevices;
  // How the runner uses a PopEF file: "map" uses weights in the memory map of the file; "copy"
  // copies them into memory, so that later changes of the file have no effect. If a mapped file is
  // truncated, the process receives SIGBUS. "": "map". Since 1.0.
  std::string load;
  // Whether to check the checksums of the PopEF file, which reads all of it. If one differs, the
  // runner is refused with data_loss, and the message names the file and the blob. A file without
  // checksums causes a warning. Since 1.0.
  bool verify = false;
  // How many shapes of a model whose shapes are compiled on demand are kept, without the one that
  // was compiled ahead. Beyond it, the least recently used shape is removed. 0: 16. Since 1.0.
  int32_t maxShapes = 0;
  // The largest number of bytes of memory that the shapes which are compiled on demand may need for
  // one run each, with the inputs and outputs of a request, without the shape that was compiled
  // ahead. A request whose shape needs more is refused with invalid_argument, and the message
  // contains the needed and the allowed bytes. To make room for a shape, the least recently used
  // ones are removed. 0: no limit; negative: half of the memory of the computer or, if that is
  // smaller, of the limit of the process's control group. Since 1.0.
  int64_t maxShapeMemory = 0;
  // </options:runner>
};

// The fields of RuntimeConfig that Model Runtime has, with the names of Model Runtime. Times are
// durations.
struct ModelRunnerConfig {
  static constexpr std::chrono::nanoseconds kNever = std::chrono::nanoseconds::max();

  // <options:model_runner> made from capi/option_fields.toml by tests/lint/option_fields.py --write
  // How long to try again while no device is free, and how long to sleep between two attempts.
  // Default: 1 and 6 seconds. Since 0.1.
  DeviceWaitConfig device_wait_config{std::chrono::seconds(1), std::chrono::seconds(6)};
  // Whether several threads may use the runner at once. Off saves a lock. Since 0.1.
  bool thread_safe = true;
  // Number of copies of the model, each on a different device. Since 0.1.
  int32_t replication_factor = 1;
  // How long a batch that has some rows waits for more before it is padded with zeros. 0: without
  // limit; 10 ms, the default: it does not wait, but runs as soon as the device is idle, and rows
  // are gathered while the device is busy. Since 0.1.
  std::chrono::nanoseconds timeout_ns = std::chrono::nanoseconds(10'000'000);
  // Whether each run checks names and sizes. Without the checks, unknown names are ignored, missing
  // inputs are zeros, missing outputs are dropped, the size of the first binding determines the
  // number of rows, and others may be larger. Fused and conditional models need this. Since 0.1.
  bool validate_io_params = true;
  // The dimension along which requests may have any size. UINT32_MAX: none; requests are whole
  // compiled batches. Since 0.1.
  uint32_t batching_dim = UINT32_MAX;
  // Whether files that another version compiled are refused. Since 0.1.
  bool check_package_hash = true;
  // The ring has places for this number times the rows of a step; without a batching dimension a
  // row is a batch. With 2, the ring has at least 64 places. Since 0.1.
  int32_t ring_buffer_size_multiplier = 2;
  // Whether the device is reset after an error that a reset repairs. Since 0.1.
  bool auto_reset = false;
  // Constant values of inputs, which requests then leave out. The values are copied. Since 0.1.
  InputMemoryView frozen_inputs;
  // Whether a batch is padded only while a caller waits for one of its requests or has given a
  // callback for it. Without a limit by the timeout, a batch is then padded at once. This also
  // records tracepoints. Since 0.1.
  bool flush_on_waiting_outputs = false;
  // How long a batch waits, from its first row until it is padded. With it, the default of timeout
  // has no effect. Since 0.1.
  std::chrono::nanoseconds batch_size_timeout_ns = kNever;
  // How long a step waits, from its first complete batch until it runs without the missing batches.
  // Since 0.1.
  std::chrono::nanoseconds data_parallel_timeout_ns = kNever;
  // Whether the timeouts of batches and of steps are used. Since 0.1.
  bool is_batch_size_timeout_enabled = false;
  // How many of the last requests tracepoints() reports. 0: all. Since 0.1.
  int64_t request_tracepoints_buffer_size = 1000;
  // Devices of the replicas, which are counted from 0. None given: any free devices. Since 0.1.
  ReplicaIdToDevice replica_id_to_device;
  // Rows that pad batches instead of zeros, and memory for their results, by name, for all inputs
  // of requests and all outputs. The memory must stay valid while the runner exists. Since 0.1.
  std::pair<InputMemoryView, OutputMemoryView> flush_by_name;
  // </options:model_runner>

  // Converts to the configuration of runners.
  operator RuntimeConfig() const {
    RuntimeConfig c;
    // <options:copies> made from capi/option_fields.toml by tests/lint/option_fields.py --write
    c.deviceWaitConfig = device_wait_config;
    c.threadSafe = thread_safe;
    c.replicationFactor = replication_factor;
    c.timeoutNS = timeout_ns.count();
    c.validateIOParams = validate_io_params;
    c.batchingDim = batching_dim;
    c.checkPackageHash = check_package_hash;
    c.ringBufferSizeMultiplier = ring_buffer_size_multiplier;
    c.autoReset = auto_reset;
    c.frozenInputs = frozen_inputs;
    c.flushOnWaitingOutputs = flush_on_waiting_outputs;
    c.batchSizeTimeoutNS = batch_size_timeout_ns.count();
    c.dataParallelTimeoutNS = data_parallel_timeout_ns.count();
    c.isBatchSizeTimeoutEnabled = is_batch_size_timeout_enabled;
    c.requestTracepointsBufferSize = request_tracepoints_buffer_size;
    c.replicaIdToDevice = replica_id_to_device;
    c.flushByName = flush_by_name;
    // </options:copies>
    return c;
  }
};

namespace impl {

// Options for one call, with the memory of their pointers.
struct RunnerOptions {
  explicit RunnerOptions(const RuntimeConfig& c) {
    // Zero and negative numbers have another meaning in the C ABI.
    const auto expect = [](bool holds, const char* what) {
      if (!holds) throw Error(ErrorCode::invalid_argument, std::string("RuntimeConfig: ") + what);
    };
    expect(c.ringBufferSizeMultiplier > 0, "ringBufferSizeMultiplier must be more than 0");
    expect(c.replicationFactor > 0, "replicationFactor must be more than 0");
    expect(c.timeoutNS >= 0 && c.batchSizeTimeoutNS >= 0 && c.dataParallelTimeoutNS >= 0,
           "timeouts must not be negative");
    expect(c.requestTracepointsBufferSize >= 0,
           "requestTracepointsBufferSize must not be negative");
    expect(c.deviceWaitConfig.timeout.count() >= 0, "the wait for a device must not be negative");
    o.struct_size = sizeof o;
    o.threads = c.threads;
    o.profile = c.profile;
    o.device = c.device ? c.device->handle() : nullptr;
    o.queue_depth = c.queueDepth;
    // The default does not wait for full batches.
    o.timeout_ns = c.timeoutNS == 0                           ? -1
                   : c.timeoutNS == RuntimeConfig().timeoutNS ? 0
                                                              : c.timeoutNS.count();
    o.not_thread_safe = !c.threadSafe;
    o.no_validate_io_params = !c.validateIOParams;
    o.use_batching_dim = c.batchingDim != UINT32_MAX;
    o.batching_dim = o.use_batching_dim ? c.batchingDim : 0;
    o.ring_buffer_size_multiplier = c.ringBufferSizeMultiplier;
    o.auto_reset = c.autoReset;
    o.flush_on_waiting_outputs = c.flushOnWaitingOutputs;
    o.is_batch_size_timeout_enabled = c.isBatchSizeTimeoutEnabled;
    // Here 0 means without waiting, and in the C ABI it means never, so it becomes 1 ns.
    o.batch_size_timeout_ns = std::max<int64_t>(c.batchSizeTimeoutNS, 1);
    o.data_parallel_timeout_ns = std::max<int64_t>(c.dataParallelTimeoutNS, 1);
    o.request_tracepoints_buffer_size =
        c.requestTracepointsBufferSize == 0 ? -1 : c.requestTracepointsBufferSize;
    o.replication_factor = c.replicationFactor;
    o.max_shapes = c.maxShapes;
    o.max_shape_memory = c.maxShapeMemory;
    o.overlap_io = c.overlapIO;
    o.batches_per_step = c.batchesPerStep;
    for (const auto& [id, device] : c.replicaIdToDevice)
      devices.push_back({id, device ? device->handle() : nullptr});
    o.replica_devices = devices.data();
    o.replica_device_count = devices.size();
    for (const auto& [name, v] : c.frozenInputs)
      frozen.push_back({detail::text(name, "name"), 0, v.data, v.dataSizeBytes});
    o.frozen_inputs = frozen.data();
    o.frozen_input_count = frozen.size();
    for (const auto& [name, v] : c.flushByName.first)
      flushIn.push_back({detail::text(name, "name"), 0, v.data, v.dataSizeBytes});
    o.flush_inputs = flushIn.data();
    o.flush_input_count = flushIn.size();
    for (const auto& [name, v] : c.flushByName.second)
      flushOut.push_back({detail::text(name, "name"), 0, v.data, v.dataSizeBytes});
    o.flush_outputs = flushOut.data();
    o.flush_output_count = flushOut.size();
    const DeviceWaitConfig& w = c.deviceWaitConfig;
    o.device_wait_timeout_ns = POPRT_DO_NOT_WAIT;
    if (w.strategy == DeviceWaitStrategy::WAIT_FOREVER) o.device_wait_timeout_ns = -1;
    if (w.strategy == DeviceWaitStrategy::WAIT_WITH_TIMEOUT && w.timeout.count() != 0)
      o.device_wait_timeout_ns = w.timeout.count();
    o.device_wait_sleep_ns = w.rawSleepNs();
    if (!c.faults.empty()) o.faults = detail::text(c.faults, "faults");
    if (!c.numerics.empty()) o.numerics = detail::text(c.numerics, "numerics");
    if (!c.sharedDevices.empty()) o.shared_devices = detail::text(c.sharedDevices, "sharedDevices");
    if (!c.load.empty()) o.load = detail::text(c.load, "load");
    if (!c.executionPrecision.empty())
      o.execution_precision = detail::text(c.executionPrecision, "executionPrecision");
    o.telemetry = c.telemetry;
    o.verify = c.verify;
  }
  RunnerOptions(const RunnerOptions&) = delete;
  RunnerOptions& operator=(const RunnerOptions&) = delete;

  poprt_runner_options o{};
  std::vector<poprt_replica_device> devices;
  std::vector<poprt_input> frozen, flushIn;
  std::vector<poprt_output> flushOut;
};

}  // namespace impl

namespace impl {

inline void setReplica(poprt_request_options& o, int64_t replica) {
  o.use_replica = replica >= 0;
  // A number that is too large stays the number of no replica.
  o.replica = replica < 0 ? 0 : static_cast<uint32_t>(std::min<int64_t>(replica, UINT32_MAX));
}

}  // namespace impl

// Options of a request, for submitWith(). Since 1.0.
struct RequestOptions {
  // <options:request> made from capi/option_fields.toml by tests/lint/option_fields.py --write
  // How long the request may wait, counted from the call. A request that has not begun by then
  // fails with deadline_exceeded. 0: without limit. Nanoseconds. Since 0.1.
  std::chrono::nanoseconds timeout = {};
  // What happens while queue_depth requests are in flight, a poprt_when_full. The call waits only
  // with POPRT_WHEN_FULL_WAIT. 0: POPRT_WHEN_FULL_WAIT. Since 1.0.
  poprt_when_full whenFull = POPRT_WHEN_FULL_WAIT;
  // The replica that runs the request, counted from 0. The request reads the state (caches) that
  // earlier requests left on this replica. A replica that the runner does not have fails with
  // not_found. -1: any. Since 1.0.
  int64_t replica = -1;
  // Whether whole batches run at once, even if the step of batches_per_step batches is not full.
  // Batches of a call that waits for its result always do. Since 1.0.
  bool atOnce = false;
  // </options:request>

  // Converts to the options of the C library.
  poprt_request_options options() const {
    poprt_request_options o{};
    o.struct_size = sizeof o;
    // <options:request_copies>
    o.timeout_ns = timeout.count();
    o.when_full = whenFull;
    impl::setReplica(o, replica);
    o.at_once = atOnce ? 1 : 0;
    // </options:request_copies>
    return o;
  }
};

// Submitted work. The object may be destroyed at any time.
class Request {
 public:
  explicit Request(poprt_request* handle) : handle_(handle) {}  // takes ownership
  bool done() const { return poprt_request_done(handle_.get()) != 0; }
  // Returns true if the request has failed with cancelled, false if it has begun or is done.
  bool cancel() { return poprt_request_cancel(handle_.get()) != 0; }
  // Throws the error of the run.
  void wait() const { detail::check(poprt_request_wait(handle_.get(), -1)); }
  // Returns false if the request is not done in time. Throws the error of the run, which is
  // deadline_exceeded if the request missed its own deadline.
  bool waitFor(std::chrono::nanoseconds timeout) const {
    poprt_error* error = poprt_request_wait(handle_.get(), timeout.count());
    if (poprt_error_get_code(error) == POPRT_DEADLINE_EXCEEDED) {
      poprt_error_free(error);
      if (!done()) return false;
      error = poprt_request_wait(handle_.get(), -1);  // it may have ended after the wait
    }
    detail::check(error);
    return true;
  }

 private:
  struct Free {
    void operator()(poprt_request* r) const { poprt_request_free(r); }
  };
  std::unique_ptr<poprt_request, Free> handle_;
};

// Returns views of owned memory.
inline InputMemoryView viewOf(const InputMemory& memory) {
  InputMemoryView views;
  for (const auto& [name, m] : memory) views[name] = m.getConstView();
  return views;
}

// The caller owns all memory. It must stay valid until the call returns or the futures are ready.
class BaseRunner {
 public:
  virtual ~BaseRunner() = default;
  virtual void execute(const InputMemoryView& inputs, const OutputMemoryView& outputs) = 0;
  virtual OutputFutureMemoryView executeAsync(const InputMemoryView& inputs,
                                              const OutputMemoryView& outputs) = 0;
  virtual std::vector<InputDesc> getExecuteInputs() const = 0;
  virtual std::vector<OutputDesc> getExecuteOutputs() const = 0;
};

namespace impl {

// Whether the file is an ONNX model, by the end of its path or by its first byte, a field of
// protobuf. A PopEF file begins with 'P'.
inline bool isOnnx(const std::string& path) {
  constexpr char kLower[] = ".onnx", kUpper[] = ".ONNX";
  bool named = path.size() >= 5;
  for (size_t i = 0; named && i < 5; i++)
    if (const char c = path[path.size() - 5 + i]; c != kLower[i] && c != kUpper[i]) named = false;
  if (named) return true;
  struct stat info;
  // Opening a FIFO would wait. The error of the library names the path.
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (!file) return false;  // the error of the library names the path
  const int first = std::fgetc(file);
  std::fclose(file);
  return first >= 0 && first < ' ';
}

// The functions that all kinds of runners have.
class HandleRunner : public BaseRunner {
 public:
  void execute(const InputMemoryView& inputs, const OutputMemoryView& outputs) override {
    const Views views(inputs, outputs);
    check(poprt_runner_execute(handle_.get(), views.in.data(), views.in.size(), views.out.data(),
                               views.out.size()));
  }
  // Allocates the outputs, for as many rows as the inputs have.
  OutputMemory execute(const InputMemoryView& inputs) {
    OutputMemory memory;
    execute(inputs, allocate(inputs, memory));
    return memory;
  }

  // The futures throw the error of the request. The call never waits: if the queue
  // (RuntimeConfig::queueDepth) is full, the request waits in a list without limit. Wait for
  // futures to limit the number of requests. submit() has other choices.
  OutputFutureMemoryView executeAsync(const InputMemoryView& inputs,
                                      const OutputMemoryView& outputs) override {
    return start<TensorMemoryView, OutputFutureMemoryView>(inputs, outputs, outputs);
  }
  // Allocates the outputs, for as many rows as the inputs have.
  OutputFutureMemory executeAsync(const InputMemoryView& inputs) {
    OutputMemory memory;
    const OutputMemoryView views = allocate(inputs, memory);
    return start<TensorMemory, OutputFutureMemory>(inputs, views, memory);
  }
  // With a timeout other than 0, the request fails if it has not begun by then. `whenFull` is the
  // behaviour while queue_depth requests are in flight; the call only waits with
  // POPRT_WHEN_FULL_WAIT. `replica` is the replica whose state (caches) the request uses; -1: any.
  Request submit(const InputMemoryView& inputs, const OutputMemoryView& outputs,
                 std::chrono::nanoseconds timeout = {},
                 poprt_when_full whenFull = POPRT_WHEN_FULL_WAIT, std::int64_t replica = -1) {
    RequestOptions options;
    options.timeout = timeout;
    options.whenFull = whenFull;
    options.replica = replica;
    return submitWith(inputs, outputs, options);
  }
  // The same with all options. Since 1.0.
  Request submitWith(const InputMemoryView& inputs, const OutputMemoryView& outputs,
                     const RequestOptions& options) {
    const Views views(inputs, outputs);
    const poprt_request_options o = options.options();
    poprt_request* request = nullptr;
    check(poprt_runner_submit(handle_.get(), views.in.data(), views.in.size(), views.out.data(),
                              views.out.size(), &o, &request));
    return Request(request);
  }

  std::vector<InputDesc> getExecuteInputs() const override {
    std::vector<InputDesc> list;
    for (size_t i = 0; i < poprt_runner_input_count(handle_.get()); i++) {
      list.push_back(detail::describe(poprt_runner_input(handle_.get(), i)));
      list.back().popefContainsTensorData = poprt_runner_input_has_data(handle_.get(), i) != 0;
    }
    return list;
  }
  std::vector<OutputDesc> getExecuteOutputs() const override {
    std::vector<OutputDesc> list;
    for (size_t i = 0; i < poprt_runner_output_count(handle_.get()); i++)
      list.push_back(detail::describe(poprt_runner_output(handle_.get(), i)));
    return list;
  }

  // <functions:runner> made from capi/functions.toml by tests/lint/functions.py --write
  // The position of the input with a name, for bindings by position. Throws not_found (no input of
  // requests has the name; the message lists the names). Since 1.0.
  size_t inputIndex(const std::string& name) const {
    size_t value = 0;
    detail::check(poprt_runner_input_index(handle_.get(), detail::text(name, "name"), &value));
    return value;
  }
  // The position of the output with a name, for bindings by position. Throws not_found (no output
  // has the name; the message lists the names). Since 1.0.
  size_t outputIndex(const std::string& name) const {
    size_t value = 0;
    detail::check(poprt_runner_output_index(handle_.get(), detail::text(name, "name"), &value));
    return value;
  }
  // A JSON object with the counters and latencies of the runner and of each replica, since the
  // runner was created. Since 0.1.
  std::string statistics() const {
    poprt_string* text = nullptr;
    detail::check(poprt_runner_statistics(handle_.get(), &text));
    return detail::take(text);
  }
  // A JSON array of the times at which each of the last requests was submitted, began, computed and
  // ended. The array is empty without the option `flush_on_waiting_outputs`. Since 0.1.
  std::string tracepoints() const {
    poprt_string* text = nullptr;
    detail::check(poprt_runner_tracepoints(handle_.get(), &text));
    return detail::take(text);
  }
  // A JSON object with the times of every instruction on the first device of replica 0 since the
  // model was last loaded on it: when the runner was created, or by `auto_reset` after an error.
  // Throws failed_precondition (the runner was created without the option `profile`); unimplemented
  // (this kind of runner has no profile). Since 0.1.
  std::string profile() const {
    poprt_string* text = nullptr;
    detail::check(poprt_runner_profile(handle_.get(), &text));
    return detail::take(text);
  }
  // Compiles shapes of a model whose shapes are compiled on demand, and waits until they are ready.
  // Throws invalid_argument (the text is ill-formed, or a shape contradicts the model);
  // unimplemented (the shapes of the runner are fixed); failed_precondition (there is no compiler
  // library). Since 1.0.
  void warmUp(const std::string& shapes) {
    detail::check(poprt_runner_warm_up(handle_.get(), detail::text(shapes, "shapes")));
  }
  // A JSON object with the dimensions of all inputs and outputs, which states the sizes that
  // requests decide. Since 1.0.
  std::string openDimensions() const {
    poprt_string* text = nullptr;
    detail::check(poprt_runner_open_dimensions(handle_.get(), &text));
    return detail::take(text);
  }
  // Ends the runner. Waiting requests are cancelled, and the request on the device ends early with
  // cancelled. Later requests fail with cancelled. Since 0.1.
  void stop() { poprt_runner_stop(handle_.get()); }
  // Lets incomplete batches run at once from now on: requests do not wait for others that would
  // fill their batch. Nothing changes for a runner that packs sequences, whose requests wait at
  // most its timeout. Since 1.0.
  void drain() { poprt_runner_drain(handle_.get()); }
  // </functions:runner>
  // warmUp() with the shapes of the inputs by name. Since 1.0.
  void warmUp(const std::map<std::string, std::vector<int64_t>>& shapes) {
    std::string text;
    for (const auto& [name, shape] : shapes) {
      text += (text.empty() ? "" : "\n") + name + "=" + (shape.empty() ? "[]" : "");
      for (size_t i = 0; i < shape.size(); i++) text += (i ? "," : "") + std::to_string(shape[i]);
    }
    warmUp(text);
  }
  // Returns the statistics as numbers, of all replicas or of one.
  RunnerCounters counters(int64_t replica = POPRT_ALL_REPLICAS) const {
    RunnerCounters counters{};
    counters.struct_size = sizeof counters;
    check(poprt_runner_get_counters(handle_.get(), replica, &counters));
    return counters;
  }
  poprt_runner* handle() const { return handle_.get(); }

 protected:
  HandleRunner() = default;
  static void check(poprt_error* error) { detail::check(error); }
  void adopt(poprt_runner* made) { handle_.reset(made); }

 private:
  struct Free {
    void operator()(poprt_runner* r) const { poprt_runner_free(r); }
  };
  struct Views {
    Views(const InputMemoryView& inputs, const OutputMemoryView& outputs) {
      in.reserve(inputs.size());
      out.reserve(outputs.size());
      for (const auto& [name, v] : inputs)
        in.push_back({detail::text(name, "name"), 0, v.data, v.dataSizeBytes});
      for (const auto& [name, v] : outputs)
        out.push_back({detail::text(name, "name"), 0, v.data, v.dataSizeBytes});
    }
    std::vector<poprt_input> in;
    std::vector<poprt_output> out;
  };
  // The promises of a request. The callback and the submission may end in either order; the one
  // that ends last fulfils the promises.
  template <class Value>
  struct Pending {
    std::unordered_map<std::string, Value> outputs;
    std::unordered_map<std::string, std::promise<Value>> promises;
    poprt_request* request = nullptr;
    std::atomic<int> ended{0};

    static void end(Pending* p) {
      if (p->ended.fetch_add(1) == 0) return;
      const std::unique_ptr<Pending> mine(p);
      const Request request(p->request);
      try {
        request.wait();
        for (auto& [name, promise] : p->promises) promise.set_value(p->outputs.at(name));
      } catch (...) {
        for (auto& [name, promise] : p->promises) promise.set_exception(std::current_exception());
      }
    }
  };

  // The library knows the size of the outputs that belong to inputs of this size.
  OutputMemoryView allocate(const InputMemoryView& inputs, OutputMemory& memory) const {
    std::vector<poprt_tensor> given;
    for (const auto& [name, v] : inputs)
      given.push_back({detail::text(name, "name"), 0, const_cast<void*>(v.data), v.dataSizeBytes,
                       POPRT_DTYPE_UNDEFINED, 0, nullptr, 0});
    poprt_outputs* made = nullptr;
    check(poprt_outputs_create(handle_.get(), given.data(), given.size(), &made));
    const std::shared_ptr<poprt_outputs> owner(made, poprt_outputs_free);
    OutputMemoryView views;
    for (size_t i = 0; i < poprt_outputs_count(made); i++) {
      const poprt_tensor& output = *poprt_outputs_at(made, i);
      TensorMemory m;
      m.dataSizeBytes = output.bytes;
      m.data = std::shared_ptr<void>(owner, output.data);
      views[output.name] = m.getView();
      memory.emplace(output.name, std::move(m));
    }
    return views;
  }
  template <class Value, class Futures>
  Futures start(const InputMemoryView& inputs, const OutputMemoryView& outputs,
                const std::unordered_map<std::string, Value>& values) {
    const Views views(inputs, outputs);
    auto pending = std::make_unique<Pending<Value>>();
    pending->outputs = values;
    Futures futures;
    for (const auto& [name, value] : values)
      futures.emplace(name, pending->promises[name].get_future().share());
    poprt_request_options options{};
    options.struct_size = sizeof options;
    options.callback = [](poprt_error_code, void* p) {
      Pending<Value>::end(static_cast<Pending<Value>*>(p));
    };
    options.user_data = pending.get();
    options.when_full = POPRT_WHEN_FULL_LINE;
    check(poprt_runner_submit(handle_.get(), views.in.data(), views.in.size(), views.out.data(),
                              views.out.size(), &options, &pending->request));
    Pending<Value>::end(pending.release());
    return futures;
  }

  std::unique_ptr<poprt_runner, Free> handle_;
};

}  // namespace impl

class ModelRunner : public impl::HandleRunner {
 public:
  // Loads a PopEF file, or compiles an ONNX model (.onnx) and caches the result: see
  // Executable::load.
  explicit ModelRunner(const std::string& path, const RuntimeConfig& config = {})
      : ModelRunner(impl::isOnnx(path) ? Executable::load(path)
                                       : Executable({path}, config.checkPackageHash),
                    config) {}
  explicit ModelRunner(const std::vector<std::string>& popefPaths, const RuntimeConfig& config = {})
      : ModelRunner(Executable(popefPaths, config.checkPackageHash), config) {}
  explicit ModelRunner(std::initializer_list<std::string> popefPaths,
                       const RuntimeConfig& config = {})
      : ModelRunner(std::vector<std::string>(popefPaths), config) {}
  explicit ModelRunner(const std::shared_ptr<popef::Model>& model, const RuntimeConfig& config = {})
      : ModelRunner(detail::given(model, "model"), config) {}
  explicit ModelRunner(const popef::Model& model, const RuntimeConfig& config = {})
      : ModelRunner(Executable(model, config.checkPackageHash), config) {}
  explicit ModelRunner(const std::shared_ptr<Executable>& executable,
                       const RuntimeConfig& config = {})
      : ModelRunner(detail::given(executable, "executable"), config) {}
  explicit ModelRunner(const Executable& executable, const RuntimeConfig& config = {})
      : ModelRunner(executable, config, RunnerType::ModelRunner, poprt_runner_create) {}

  using HandleRunner::execute;
  // Runs the model once with one pointer for each anchor, in the model's order. Sizes are not
  // checked.
  void execute(const void* const* inputs, void* const* outputs) {
    check(poprt_runner_execute_indexed(handle(), inputs, outputs));
  }

 protected:
  template <class Create>
  ModelRunner(const Executable& executable, const RuntimeConfig& config, RunnerType type,
              Create* create) {
    if (config.runnerType != RunnerType::ModelRunner && config.runnerType != type)
      throw Error(
          ErrorCode::invalid_argument,
          std::string("RuntimeConfig: runnerType is ") +
              (config.runnerType == RunnerType::PackRunner ? "PackRunner" : "ModelFusionRunner") +
              ": construct that runner");
    const impl::RunnerOptions options(config);
    poprt_runner* made = nullptr;
    check(create(executable.handle(), &options.o, &made));
    adopt(made);
  }
};

// Sets the input "index" of a fused model from the names of a request.
class ModelFusionRunner : public ModelRunner {
 public:
  explicit ModelFusionRunner(const std::string& popefPath, const RuntimeConfig& config = {})
      : ModelFusionRunner(Executable({popefPath}, config.checkPackageHash), config) {}
  explicit ModelFusionRunner(const std::shared_ptr<popef::Model>& model,
                             const RuntimeConfig& config = {})
      : ModelFusionRunner(detail::given(model, "model"), config) {}
  explicit ModelFusionRunner(const popef::Model& model, const RuntimeConfig& config = {})
      : ModelFusionRunner(Executable(model, config.checkPackageHash), config) {}
  explicit ModelFusionRunner(const std::shared_ptr<Executable>& executable,
                             const RuntimeConfig& config = {})
      : ModelFusionRunner(detail::given(executable, "executable"), config) {}
  explicit ModelFusionRunner(const Executable& executable, const RuntimeConfig& config = {})
      : ModelRunner(executable, config, RunnerType::ModelFusionRunner, poprt_fusion_runner_create) {
  }
};

using Runner = ModelRunner;

}  // namespace model_runtime
