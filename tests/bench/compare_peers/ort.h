// ONNX Runtime through its C API, loaded at run time: no header of it is needed. The API is one
// table of function pointers whose order never changes (docs/C_API.md of ONNX Runtime); the numbers
// of Slot are positions in it.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace ort {

struct Env;
struct Options;
struct Session;
struct Value;
struct Status;
struct MemoryInfo;
struct TypeAndShape;

class Api {
 public:
  explicit Api(const char* library) {
    void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) fatal(dlerror());
    struct Base {
      void* const* (*get_api)(uint32_t version);
      const char* (*version)();
    };
    auto* get_base = reinterpret_cast<const Base* (*)()>(dlsym(handle, "OrtGetApiBase"));
    if (!get_base) fatal("no OrtGetApiBase in the library");
    version_ = get_base()->version();
    table_ = get_base()->get_api(17);  // every release from 1.17 on offers it
    if (!table_) fatal("the library does not offer API version 17");
    call(kCreateEnv, int{3}, static_cast<const char*>("bench"), &env_);
    call(kCreateCpuMemoryInfo, int{1}, int{0}, &memory_);
  }
  const char* version() const { return version_; }

  // Without `optimized`, the model runs node by node without graph optimisation.
  Session* session(const char* model, int threads, bool optimized = true) const {
    return session_of(model, options_of(threads, optimized));
  }
  // Saves the optimised model, with its weights packed for the kernels in the file `weights` next
  // to it, which a session maps.
  void save(const char* model, const char* saved, const char* weights, int threads) const {
    Options* options = options_of(threads, true);
    call(kSetOptimizedModelFilePath, options, saved);
    const auto set = [&](const char* key, const char* value) {
      call(kAddSessionConfigEntry, options, key, value);
    };
    set("session.optimized_model_external_initializers_file_name", weights);
    set("session.optimized_model_external_initializers_min_size_in_bytes", "1024");
    set("session.save_external_prepacked_constant_initializers", "1");
    release(session_of(model, options));
  }
  // A tensor over caller memory; `type` is ONNX's TensorProto number.
  Value* tensor(void* data, size_t bytes, const int64_t* shape, size_t rank, int type) const {
    Value* value = nullptr;
    call(kCreateTensorWithData, static_cast<const MemoryInfo*>(memory_), data, bytes, shape, rank,
         type, &value);
    return value;
  }
  // These read a tensor that ONNX Runtime created. The data is valid as long as the value exists.
  std::vector<int64_t> shape(Value* value) const {
    TypeAndShape* info = nullptr;
    size_t rank = 0;
    call(kGetTensorTypeAndShape, static_cast<const Value*>(value), &info);
    call(kGetDimensionsCount, static_cast<const TypeAndShape*>(info), &rank);
    std::vector<int64_t> dims(rank);
    call(kGetDimensions, static_cast<const TypeAndShape*>(info), dims.data(), rank);
    reinterpret_cast<void (*)(TypeAndShape*)>(table_[kReleaseTypeAndShape])(info);
    return dims;
  }
  const void* data(Value* value) const {
    void* p = nullptr;
    call(kGetTensorMutableData, value, &p);
    return p;
  }
  void run(Session* session, const std::vector<const char*>& in_names,
           const std::vector<Value*>& in, const std::vector<const char*>& out_names,
           std::vector<Value*>& out) const {
    call(kRun, session, static_cast<const void*>(nullptr), in_names.data(), in.data(), in.size(),
         out_names.data(), out_names.size(), out.data());
  }
  void release(Session* session) const {
    reinterpret_cast<void (*)(Session*)>(table_[kReleaseSession])(session);
  }
  void release(Value* value) const {
    reinterpret_cast<void (*)(Value*)>(table_[kReleaseValue])(value);
  }

 private:
  enum Slot {
    kGetErrorMessage = 2,
    kCreateEnv = 3,
    kCreateSession = 7,
    kRun = 9,
    kCreateSessionOptions = 10,
    kSetOptimizedModelFilePath = 11,
    kSetOptimizationLevel = 23,
    kSetIntraOpNumThreads = 24,
    kCreateTensorWithData = 49,
    kGetTensorMutableData = 51,
    kGetDimensionsCount = 61,
    kGetDimensions = 62,
    kGetTensorTypeAndShape = 65,
    kCreateCpuMemoryInfo = 69,
    kReleaseSession = 95,
    kReleaseValue = 96,
    kReleaseTypeAndShape = 99,
    kReleaseSessionOptions = 100,
    kAddSessionConfigEntry = 130,
  };

  [[noreturn]] static void fatal(const char* message) {
    std::fprintf(stderr, "onnxruntime: %s\n", message);
    std::exit(1);
  }
  Options* options_of(int threads, bool optimized) const {
    Options* options = nullptr;
    call(kCreateSessionOptions, &options);
    call(kSetIntraOpNumThreads, options, threads);
    if (!optimized) call(kSetOptimizationLevel, options, int{0});
    return options;
  }
  Session* session_of(const char* model, Options* options) const {
    Session* session = nullptr;
    call(kCreateSession, env_, model, static_cast<const Options*>(options), &session);
    reinterpret_cast<void (*)(Options*)>(table_[kReleaseSessionOptions])(options);
    return session;
  }
  template <class... Args>
  void call(Slot slot, Args... args) const {
    Status* status = reinterpret_cast<Status* (*)(Args...)>(table_[slot])(args...);
    if (status)
      fatal(reinterpret_cast<const char* (*)(const Status*)>(table_[kGetErrorMessage])(status));
  }

  void* const* table_ = nullptr;
  const char* version_ = "";
  Env* env_ = nullptr;
  MemoryInfo* memory_ = nullptr;
};

}  // namespace ort
