// The C ABI as C++17, header-only, with the names of PopRT's C++ API.
//
// Objects share what they are made from, so they may go out of scope in any order. Everything that
// can fail throws poprt::Error. Thread safety is that of the C functions.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <new>
#include <ostream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "poprt/poprt.h"

namespace poprt {
inline namespace v0 {

enum class ErrorCode : int32_t {
  ok = POPRT_OK,
  cancelled = POPRT_CANCELLED,
  unknown = POPRT_UNKNOWN,
  invalid_argument = POPRT_INVALID_ARGUMENT,
  deadline_exceeded = POPRT_DEADLINE_EXCEEDED,
  not_found = POPRT_NOT_FOUND,
  already_exists = POPRT_ALREADY_EXISTS,
  permission_denied = POPRT_PERMISSION_DENIED,
  resource_exhausted = POPRT_RESOURCE_EXHAUSTED,
  failed_precondition = POPRT_FAILED_PRECONDITION,
  aborted = POPRT_ABORTED,
  out_of_range = POPRT_OUT_OF_RANGE,
  unimplemented = POPRT_UNIMPLEMENTED,
  internal = POPRT_INTERNAL,
  unavailable = POPRT_UNAVAILABLE,
  data_loss = POPRT_DATA_LOSS,
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

namespace detail {

inline void check(poprt_error* error) {
  if (!error) return;
  const std::unique_ptr<poprt_error, decltype(&poprt_error_free)> owner(error, poprt_error_free);
  throw Error(static_cast<ErrorCode>(poprt_error_get_code(error)), poprt_error_message(error));
}

inline std::string take(poprt_string* text) {
  const std::unique_ptr<poprt_string, decltype(&poprt_string_free)> owner(text, poprt_string_free);
  return {poprt_string_data(text), poprt_string_size(text)};
}

}  // namespace detail

enum class DataType : int32_t {
  UNDEFINED = POPRT_DTYPE_UNDEFINED,
  F32 = POPRT_DTYPE_F32,
  F64 = POPRT_DTYPE_F64,
  F16 = POPRT_DTYPE_F16,
  BF16 = POPRT_DTYPE_BF16,
  S8 = POPRT_DTYPE_S8,
  U8 = POPRT_DTYPE_U8,
  S16 = POPRT_DTYPE_S16,
  U16 = POPRT_DTYPE_U16,
  S32 = POPRT_DTYPE_S32,
  U32 = POPRT_DTYPE_U32,
  S64 = POPRT_DTYPE_S64,
  U64 = POPRT_DTYPE_U64,
  BOOL = POPRT_DTYPE_BOOL,
  F8143 = POPRT_DTYPE_F8143,
  F8152 = POPRT_DTYPE_F8152,
};

struct DataDesc {
  std::string name;
  int64_t sizeInBytes = 0;
  std::vector<int64_t> shape;
  DataType dataType = DataType::UNDEFINED;
  bool popefContainsTensorData = false;
};
using InputDesc = DataDesc;
using OutputDesc = DataDesc;

namespace detail {

inline DataDesc describe(const poprt_anchor* anchor) {
  const int64_t* shape = poprt_anchor_shape(anchor);
  return {poprt_anchor_name(anchor), static_cast<int64_t>(poprt_anchor_bytes(anchor)),
          std::vector<int64_t>(shape, shape + poprt_anchor_rank(anchor)),
          static_cast<DataType>(poprt_anchor_dtype(anchor)), false};
}

}  // namespace detail

inline int32_t version() { return poprt_version(); }
inline std::string versionString() { return poprt_version_string(); }

enum class DumpFormat { summary, metadata, all, json, userAnchors };
inline std::string dumpPopef(const std::string& path, DumpFormat format = DumpFormat::summary) {
  poprt_string* text = nullptr;
  detail::check(poprt_popef_dump(path.c_str(), static_cast<poprt_popef_format>(format), &text));
  return detail::take(text);
}

// A compiled model.
class Executable {
 public:
  explicit Executable(const std::string& popefPath) {
    poprt_executable* made = nullptr;
    detail::check(poprt_executable_open(popefPath.c_str(), &made));
    handle_.reset(made);
  }
  // Files that make one model together, in any order.
  explicit Executable(const std::vector<std::string>& popefPaths, bool checkPackageHash = true) {
    std::vector<const char*> paths;
    for (const auto& p : popefPaths) paths.push_back(p.c_str());
    poprt_open_options o{};
    o.struct_size = sizeof o;
    o.ignore_package_hash = !checkPackageHash;
    poprt_executable* made = nullptr;
    detail::check(poprt_executable_open_files(paths.data(), paths.size(), &o, &made));
    handle_.reset(made);
  }
  // Takes the handle.
  explicit Executable(poprt_executable* handle) : handle_(handle) {}
  static Executable fromBytes(const void* data, size_t size) {
    poprt_executable* made = nullptr;
    detail::check(poprt_executable_open_bytes(data, size, &made));
    return Executable(made);
  }

  void save(const std::string& popefPath) const {
    detail::check(poprt_executable_save(handle_.get(), popefPath.c_str()));
  }
  // The program and its weights as two files.
  void save(const std::string& executablePath, const std::string& variablesPath) const {
    detail::check(
        poprt_executable_save_parts(handle_.get(), executablePath.c_str(), variablesPath.c_str()));
  }
  void serialize(std::ostream& stream) const {
    const auto write = [](const void* data, size_t size, void* to) -> int32_t {
      auto& out = *static_cast<std::ostream*>(to);
      out.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
      return out ? 0 : 1;
    };
    detail::check(poprt_executable_save_bytes(handle_.get(), write, &stream));
  }
  std::string name() const { return poprt_executable_name(handle_.get()); }
  std::vector<InputDesc> getInputs() const {
    std::vector<InputDesc> list;
    for (size_t i = 0; i < poprt_executable_input_count(handle_.get()); i++)
      list.push_back(detail::describe(poprt_executable_input(handle_.get(), i)));
    return list;
  }
  std::vector<OutputDesc> getOutputs() const {
    std::vector<OutputDesc> list;
    for (size_t i = 0; i < poprt_executable_output_count(handle_.get()); i++)
      list.push_back(detail::describe(poprt_executable_output(handle_.get(), i)));
    return list;
  }
  size_t weightsBytes() const { return poprt_executable_weights_bytes(handle_.get()); }
  size_t arenaBytes() const { return poprt_executable_arena_bytes(handle_.get()); }
  std::string listing() const {
    poprt_string* text = nullptr;
    detail::check(poprt_executable_listing(handle_.get(), &text));
    return detail::take(text);
  }
  const poprt_executable* handle() const { return handle_.get(); }

 private:
  struct Free {
    void operator()(poprt_executable* h) const { poprt_executable_free(h); }
  };
  std::unique_ptr<poprt_executable, Free> handle_;
};

namespace compiler {

enum class Precision : int32_t {
  keep = POPRT_PRECISION_KEEP,
  fp32 = POPRT_PRECISION_FP32,
  fp16 = POPRT_PRECISION_FP16,
};

struct CompilerOptions {
  std::map<std::string, std::vector<int64_t>> inputShape;  // fixes variable dimensions
  int64_t batchSize = 0;                                   // 0: as the model says
  int64_t batchAxis = 0;                                   // used with batchSize
  Precision precision = Precision::keep;
  std::vector<std::string> passes;
  std::vector<std::string> skipPasses;
  bool verify = true;
  int64_t maxTensorSize = 0;  // 0: no limit
  int64_t rewriteLimit = 0;   // 0: no limit
  std::string stopAfter;
  bool enableEngineCaching = false;  // see poprt_compile_options
  std::string cachePath;
  bool constantWeights = true;  // false: Session::updateWeights() may change named weights
  // What it throws comes out of the compiling function, when that has ended.
  std::function<void(double done, const std::string& what)> progress;
};

// Model arguments are a path, or the bytes of an ONNX file. `outputs` names the outputs to keep;
// empty keeps all.
class Compiler {
 public:
  static std::shared_ptr<Executable> compile(const std::string& model,
                                             const std::vector<std::string>& outputs = {},
                                             const CompilerOptions& options = {}) {
    Call call(options, outputs);
    poprt_executable* made = nullptr;
    poprt_error* error =
        isBytes(model) ? poprt_compiler_compile_bytes(call.compiler.get(), model.data(),
                                                      model.size(), nullptr, &made)
                       : poprt_compiler_compile_file(call.compiler.get(), model.c_str(), &made);
    const auto executable = made ? std::make_shared<Executable>(made) : nullptr;
    call.check(error);
    return executable;
  }

  static void compileAndExport(const std::string& model, const std::vector<std::string>& outputs,
                               const std::string& popefPath, const CompilerOptions& options = {}) {
    if (isBytes(model)) return compile(model, outputs, options)->save(popefPath);
    Call call(options, outputs);
    call.check(
        poprt_compiler_compile_to_popef(call.compiler.get(), model.c_str(), popefPath.c_str()));
  }

  // Only the conversion, into an ONNX file.
  static void convert(const std::string& onnxPath, const std::string& outOnnxPath,
                      const std::vector<std::string>& outputs = {},
                      const CompilerOptions& options = {}) {
    Call call(options, outputs);
    call.check(
        poprt_compiler_convert_file(call.compiler.get(), onnxPath.c_str(), outOnnxPath.c_str()));
  }

  static std::string listPasses() {
    poprt_string* text = nullptr;
    detail::check(poprt_compiler_list_passes(&text));
    return detail::take(text);
  }
  static std::string listOps() {
    poprt_string* text = nullptr;
    detail::check(poprt_compiler_list_ops(&text));
    return detail::take(text);
  }

 private:
  struct Free {
    void operator()(poprt_compiler* c) const { poprt_compiler_free(c); }
  };
  struct Call {
    Call(const CompilerOptions& given, const std::vector<std::string>& outputs) : options(given) {
      poprt_compile_options o{};
      o.struct_size = sizeof o;
      std::vector<poprt_input_shape> shapes;
      for (const auto& [name, shape] : options.inputShape)
        shapes.push_back({name.c_str(), shape.data(), shape.size()});
      o.input_shapes = shapes.data();
      o.input_shape_count = shapes.size();
      o.batch_size = options.batchSize;
      o.batch_axis = options.batchAxis;
      o.precision = static_cast<poprt_precision>(options.precision);
      o.no_verify = !options.verify;
      const auto passes = pointers(options.passes), skips = pointers(options.skipPasses),
                 kept = pointers(outputs);
      o.passes = passes.data();
      o.pass_count = passes.size();
      o.skip_passes = skips.data();
      o.skip_pass_count = skips.size();
      o.outputs = kept.data();
      o.output_count = kept.size();
      o.max_tensor_size = options.maxTensorSize;
      o.rewrite_limit = options.rewriteLimit;
      o.enable_engine_caching = options.enableEngineCaching;
      o.variable_weights = !options.constantWeights;
      if (!options.cachePath.empty()) o.cache_path = options.cachePath.c_str();
      if (!options.stopAfter.empty()) o.stop_after = options.stopAfter.c_str();
      if (options.progress) {
        o.user_data = this;
        o.progress = [](double done, const char* what, void* self) {
          auto& call = *static_cast<Call*>(self);
          if (call.thrown) return;
          try {
            call.options.progress(done, what);
          } catch (...) {  // exceptions must not cross C
            call.thrown = std::current_exception();
          }
        };
      }
      poprt_compiler* made = nullptr;
      detail::check(poprt_compiler_create(&o, &made));
      compiler.reset(made);
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    void check(poprt_error* error) const {
      if (thrown) {
        poprt_error_free(error);
        std::rethrow_exception(thrown);
      }
      detail::check(error);
    }
    static std::vector<const char*> pointers(const std::vector<std::string>& names) {
      std::vector<const char*> list;
      for (const std::string& n : names) list.push_back(n.c_str());
      return list;
    }
    const CompilerOptions& options;
    std::unique_ptr<poprt_compiler, Free> compiler;
    std::exception_ptr thrown;
  };
  // ONNX files begin with a small field tag; paths have no control characters.
  static bool isBytes(const std::string& model) {
    return !model.empty() && static_cast<unsigned char>(model[0]) < 0x20;
  }
};

}  // namespace compiler

namespace runtime {

struct TensorMemoryView {
  TensorMemoryView() = default;
  TensorMemoryView(void* d, uint64_t size) : data(d), dataSizeBytes(size) {}
  void* data = nullptr;
  uint64_t dataSizeBytes = 0;
};

struct ConstTensorMemoryView {
  ConstTensorMemoryView() = default;
  ConstTensorMemoryView(const void* d, uint64_t size) : data(d), dataSizeBytes(size) {}
  ConstTensorMemoryView(const TensorMemoryView& v) : data(v.data), dataSizeBytes(v.dataSizeBytes) {}
  const void* data = nullptr;
  uint64_t dataSizeBytes = 0;
};

// Owns its bytes (64-byte aligned, not initialised); copies share them.
struct TensorMemory {
  TensorMemory() = default;
  explicit TensorMemory(uint64_t size)
      : dataSizeBytes(size), data(::operator new(size, std::align_val_t{64}), [](void* p) {
          ::operator delete(p, std::align_val_t{64});
        }) {}
  TensorMemoryView getView() { return {data.get(), dataSizeBytes}; }
  ConstTensorMemoryView getView() const { return {data.get(), dataSizeBytes}; }
  ConstTensorMemoryView getConstView() const { return {data.get(), dataSizeBytes}; }
  uint64_t dataSizeBytes = 0;
  std::shared_ptr<void> data;
};

using InputMemoryView = std::unordered_map<std::string, ConstTensorMemoryView>;
using OutputMemoryView = std::unordered_map<std::string, TensorMemoryView>;
using OutputMemory = std::unordered_map<std::string, TensorMemory>;
using OutputFutureMemoryView =
    std::unordered_map<std::string, std::shared_future<TensorMemoryView>>;

class Device {
 public:
  explicit Device(poprt_device* handle) : handle_(handle) {}  // takes the handle
  int64_t id() const { return poprt_device_id(handle_.get()); }
  int32_t ipuVersion() const { return poprt_device_ipu_version(handle_.get()); }
  int64_t numIpus() const { return poprt_device_num_ipus(handle_.get()); }
  int64_t tilesPerIpu() const { return poprt_device_tiles_per_ipu(handle_.get()); }
  bool isIpuModel() const { return poprt_device_is_ipu_model(handle_.get()) != 0; }
  poprt_device* handle() const { return handle_.get(); }

 private:
  struct Free {
    void operator()(poprt_device* d) const { poprt_device_free(d); }
  };
  std::unique_ptr<poprt_device, Free> handle_;
};

enum class DeviceWaitStrategy : int32_t {
  NO_WAIT = POPRT_NO_WAIT,
  WAIT_WITH_TIMEOUT = POPRT_WAIT_WITH_TIMEOUT,
  WAIT_FOREVER = POPRT_WAIT_FOREVER,
};

// What to do while every device that fits is busy.
struct DeviceWaitConfig {
  DeviceWaitConfig() = default;
  explicit DeviceWaitConfig(DeviceWaitStrategy s, std::chrono::nanoseconds limit = {},
                            std::chrono::nanoseconds sleep = std::chrono::seconds(15))
      : strategy(s), timeout(limit), sleepTime(sleep) {}
  explicit DeviceWaitConfig(std::chrono::nanoseconds limit,
                            std::chrono::nanoseconds sleep = std::chrono::seconds(15))
      : DeviceWaitConfig(DeviceWaitStrategy::WAIT_WITH_TIMEOUT, limit, sleep) {}

  DeviceWaitStrategy strategy = DeviceWaitStrategy::NO_WAIT;
  std::chrono::nanoseconds timeout{0};
  std::chrono::nanoseconds sleepTime = std::chrono::seconds(15);  // between looks at processes
};

struct DeviceConstraints {
  int32_t ipuVersion = 0;  // 0: any
  int64_t minTiles = 0;    // per IPU
  bool requiresRemoteBuffers = false;
};

class DeviceManager {
 public:
  // 0: POPRT_DEVICES from the environment, or 4.
  explicit DeviceManager(int32_t deviceCount = 0) {
    const poprt_device_manager_options options{sizeof options, deviceCount, 0, nullptr, nullptr};
    poprt_device_manager* made = nullptr;
    detail::check(poprt_device_manager_create(&options, &made));
    handle_.reset(made);
  }
  std::string ipuHardwareVersion() const {
    return poprt_device_manager_ipu_hardware_version(handle_.get());
  }
  size_t getNumDevices() const { return poprt_device_manager_device_count(handle_.get()); }
  std::shared_ptr<Device> getDevice(int64_t numIpus = 1) const {
    poprt_device* device = nullptr;
    detail::check(poprt_device_manager_get_device(handle_.get(), numIpus, &device));
    return std::make_shared<Device>(device);
  }
  std::shared_ptr<Device> getSpecificDevice(int64_t deviceId) const {
    poprt_device* device = nullptr;
    detail::check(poprt_device_manager_get_specific_device(handle_.get(), deviceId, &device));
    return std::make_shared<Device>(device);
  }
  std::shared_ptr<Device> getDevice(int64_t numIpus, const DeviceConstraints& constraints,
                                    const DeviceWaitConfig& wait = {}) const {
    return acquire(numIpus, constraints, wait, nullptr, -1);
  }
  // One that fits the model.
  std::shared_ptr<Device> getDevice(const Executable& model,
                                    const DeviceWaitConfig& wait = {}) const {
    return acquire(0, {}, wait, model.handle(), -1);
  }
  std::shared_ptr<Device> getSpecificDevice(const Executable& model, int64_t deviceId,
                                            const DeviceWaitConfig& wait = {}) const {
    return acquire(0, {}, wait, model.handle(), deviceId);
  }
  std::shared_ptr<Device> getSpecificDevice(int64_t deviceId, const DeviceWaitConfig& wait) const {
    return acquire(0, {}, wait, nullptr, deviceId);
  }
  // tilesPerIpu 0: what the version has.
  std::shared_ptr<Device> createIpuModelDevice(int64_t numIpus, int32_t ipuVersion = 2,
                                               int64_t tilesPerIpu = 0) const {
    poprt_device* device = nullptr;
    detail::check(poprt_device_manager_create_ipu_model_device(handle_.get(), numIpus, ipuVersion,
                                                               tilesPerIpu, &device));
    return std::make_shared<Device>(device);
  }
  std::shared_ptr<Device> createSmallIpuModelDevice(int64_t numIpus, int32_t ipuVersion = 2) const {
    poprt_device* device = nullptr;
    detail::check(poprt_device_manager_create_small_ipu_model_device(handle_.get(), numIpus,
                                                                     ipuVersion, &device));
    return std::make_shared<Device>(device);
  }

 private:
  std::shared_ptr<Device> acquire(int64_t numIpus, const DeviceConstraints& constraints,
                                  const DeviceWaitConfig& wait, const poprt_executable* model,
                                  int64_t id) const {
    poprt_device_request r{};
    r.struct_size = sizeof r;
    r.num_ipus = numIpus;
    r.ipu_version = constraints.ipuVersion;
    r.min_tiles = constraints.minTiles;
    r.remote_buffers = constraints.requiresRemoteBuffers;
    r.wait_strategy = static_cast<poprt_wait_strategy>(wait.strategy);
    r.wait_timeout_ns = wait.timeout.count();
    r.wait_sleep_ns = wait.sleepTime.count();
    poprt_device* device = nullptr;
    detail::check(poprt_device_manager_acquire(handle_.get(), &r, model, id, &device));
    return std::make_shared<Device>(device);
  }
  struct Free {
    void operator()(poprt_device_manager* m) const { poprt_device_manager_free(m); }
  };
  std::unique_ptr<poprt_device_manager, Free> handle_;
};

struct RuntimeConfig {
  int32_t threads = 0;             // 0: POPRT_THREADS, or all CPUs
  bool profile = false;            // time every instruction
  std::shared_ptr<Device> device;  // null: any free one
  int32_t queueDepth = 0;          // 0: 64
};

// Submitted work; may be dropped at any time.
class Request {
 public:
  explicit Request(poprt_request* handle) : handle_(handle) {}  // takes the handle
  bool done() const { return poprt_request_done(handle_.get()) != 0; }
  // Throws what the run failed with.
  void wait() const { detail::check(poprt_request_wait(handle_.get(), -1)); }
  // False when it is not done in time.
  bool waitFor(std::chrono::nanoseconds timeout) const {
    poprt_error* error = poprt_request_wait(handle_.get(), timeout.count());
    if (poprt_error_get_code(error) == POPRT_DEADLINE_EXCEEDED) {
      poprt_error_free(error);
      return false;
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

// Callers own all memory; it must stay valid until the call returns or the futures are ready.
class BaseRunner {
 public:
  virtual ~BaseRunner() = default;
  virtual void execute(const InputMemoryView& inputs, const OutputMemoryView& outputs) = 0;
  virtual OutputFutureMemoryView executeAsync(const InputMemoryView& inputs,
                                              const OutputMemoryView& outputs) = 0;
  virtual std::vector<InputDesc> getExecuteInputs() const = 0;
  virtual std::vector<OutputDesc> getExecuteOutputs() const = 0;
};

class ModelRunner : public BaseRunner {
 public:
  explicit ModelRunner(const std::string& popefPath, const RuntimeConfig& config = {})
      : ModelRunner(Executable(popefPath), config) {}
  explicit ModelRunner(const std::shared_ptr<Executable>& executable,
                       const RuntimeConfig& config = {})
      : ModelRunner(*executable, config) {}
  explicit ModelRunner(const Executable& executable, const RuntimeConfig& config = {}) {
    poprt_runner_options options{};
    options.struct_size = sizeof options;
    options.threads = config.threads;
    options.profile = config.profile;
    options.device = config.device ? config.device->handle() : nullptr;
    options.queue_depth = config.queueDepth;
    poprt_runner* made = nullptr;
    detail::check(poprt_runner_create(executable.handle(), &options, &made));
    handle_.reset(made);
  }

  void execute(const InputMemoryView& inputs, const OutputMemoryView& outputs) override {
    const Views views(inputs, outputs);
    detail::check(poprt_runner_execute(handle_.get(), views.in.data(), views.in.size(),
                                       views.out.data(), views.out.size()));
  }
  // Allocates the outputs.
  OutputMemory execute(const InputMemoryView& inputs) {
    OutputMemory memory;
    OutputMemoryView views;
    for (const OutputDesc& d : getExecuteOutputs()) {
      TensorMemory m(static_cast<uint64_t>(d.sizeInBytes));
      views[d.name] = m.getView();
      memory.emplace(d.name, std::move(m));
    }
    execute(inputs, views);
    return memory;
  }
  // One pointer per anchor in the model's order; sizes are not checked.
  void execute(const void* const* inputs, void* const* outputs) {
    detail::check(poprt_runner_execute_indexed(handle_.get(), inputs, outputs));
  }

  OutputFutureMemoryView executeAsync(const InputMemoryView& inputs,
                                      const OutputMemoryView& outputs) override {
    const Views views(inputs, outputs);
    auto pending = std::make_unique<Pending>();
    pending->outputs = outputs;
    OutputFutureMemoryView futures;
    for (const auto& [name, view] : outputs)
      futures.emplace(name, pending->promises[name].get_future().share());
    detail::check(poprt_runner_execute_async(
        handle_.get(), views.in.data(), views.in.size(), views.out.data(), views.out.size(),
        [](poprt_error_code code, void* context) {
          const std::unique_ptr<Pending> mine(static_cast<Pending*>(context));
          for (auto& [name, promise] : mine->promises)
            if (code == POPRT_OK)
              promise.set_value(mine->outputs.at(name));
            else
              promise.set_exception(std::make_exception_ptr(
                  Error(static_cast<ErrorCode>(code), "the request was not run")));
        },
        pending.get(), nullptr));
    static_cast<void>(pending.release());  // the callback's
    return futures;
  }
  Request submit(const InputMemoryView& inputs, const OutputMemoryView& outputs) {
    const Views views(inputs, outputs);
    poprt_request* request = nullptr;
    detail::check(poprt_runner_execute_async(handle_.get(), views.in.data(), views.in.size(),
                                             views.out.data(), views.out.size(), nullptr, nullptr,
                                             &request));
    return Request(request);
  }

  std::vector<InputDesc> getExecuteInputs() const override {
    std::vector<InputDesc> list;
    for (size_t i = 0; i < poprt_runner_input_count(handle_.get()); i++)
      list.push_back(detail::describe(poprt_runner_input(handle_.get(), i)));
    return list;
  }
  std::vector<OutputDesc> getExecuteOutputs() const override {
    std::vector<OutputDesc> list;
    for (size_t i = 0; i < poprt_runner_output_count(handle_.get()); i++)
      list.push_back(detail::describe(poprt_runner_output(handle_.get(), i)));
    return list;
  }

  void stop() { poprt_runner_stop(handle_.get()); }
  // JSON; needs RuntimeConfig::profile.
  std::string profile() const {
    poprt_string* text = nullptr;
    detail::check(poprt_runner_profile(handle_.get(), &text));
    return detail::take(text);
  }
  poprt_runner* handle() const { return handle_.get(); }

 private:
  struct Free {
    void operator()(poprt_runner* r) const { poprt_runner_free(r); }
  };
  struct Views {
    Views(const InputMemoryView& inputs, const OutputMemoryView& outputs) {
      in.reserve(inputs.size());
      out.reserve(outputs.size());
      for (const auto& [name, v] : inputs) in.push_back({name.c_str(), 0, v.data, v.dataSizeBytes});
      for (const auto& [name, v] : outputs)
        out.push_back({name.c_str(), 0, v.data, v.dataSizeBytes});
    }
    std::vector<poprt_input> in;
    std::vector<poprt_output> out;
  };
  struct Pending {
    OutputMemoryView outputs;
    std::unordered_map<std::string, std::promise<TensorMemoryView>> promises;
  };
  std::unique_ptr<poprt_runner, Free> handle_;
};

using Runner = ModelRunner;

}  // namespace runtime
}  // namespace v0
}  // namespace poprt

#include "poprt/session.hpp"
