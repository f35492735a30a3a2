// OpenVINO through its C API, loaded at run time: no header of it is needed. libopenvino_c.so and
// the libraries next to it are in the openvino wheel of PyPI (openvino/libs).
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace openvino {

struct Core;
struct Compiled;
struct Request;
struct Tensor;

struct Shape {
  int64_t rank;
  int64_t* dims;
};

// Values of ov_element_type_e.
enum class Element : int {
  boolean = 1,
  f16 = 3,
  f32 = 4,
  f64 = 5,
  s8 = 7,
  s16 = 8,
  s32 = 9,
  s64 = 10,
  u8 = 16,
  u16 = 17,
  u32 = 18,
  u64 = 19,
};

// A compiled model and one request. Reading an ONNX file is part of compiling it.
struct Model {
  Compiled* compiled = nullptr;
  Request* request = nullptr;
};

class Api {
 public:
  // Throughput hints, streams and caches are off unless they are given.
  using Properties = std::vector<std::pair<std::string, std::string>>;

  explicit Api(const char* library) : handle_(dlopen(library, RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_) fatal("dlopen", dlerror());
    struct Version {
      const char *build, *description;
    } version{};
    check("ov_get_openvino_version", function<int(Version*)>("ov_get_openvino_version")(&version));
    version_ = version.build;
    check("ov_core_create", function<int(Core**)>("ov_core_create")(&core_));
  }
  const std::string& version() const { return version_; }

  Model open(const char* path, const Properties& properties) const {
    // The C API of all versions takes properties as variable arguments, in pairs.
    constexpr size_t kMost = 5;
    std::vector<const char*> words;
    for (const auto& [key, value] : properties) {
      words.push_back(key.c_str());
      words.push_back(value.c_str());
    }
    if (properties.size() > kMost) fatal("open", "too many properties");
    const size_t count = words.size();
    words.resize(2 * kMost, nullptr);
    const auto compile =
        reinterpret_cast<int (*)(const Core*, const char*, const char*, size_t, Compiled**, ...)>(
            symbol("ov_core_compile_model_from_file"));
    Model model;
    check("ov_core_compile_model_from_file",
          compile(core_, path, "CPU", count, &model.compiled, words[0], words[1], words[2],
                  words[3], words[4], words[5], words[6], words[7], words[8], words[9]));
    check("ov_compiled_model_create_infer_request",
          function<int(const Compiled*, Request**)>("ov_compiled_model_create_infer_request")(
              model.compiled, &model.request));
    return model;
  }
  void close(const Model& model) const {
    function<void(Request*)>("ov_infer_request_free")(model.request);
    function<void(Compiled*)>("ov_compiled_model_free")(model.compiled);
  }

  // Sets an input that reads the memory of the caller.
  void set_input(const Model& model, const char* name, Element type,
                 const std::vector<int64_t>& shape, void* data) const {
    std::vector<int64_t> dims = shape;
    Tensor* tensor = nullptr;
    check("ov_tensor_create_from_host_ptr",
          function<int(int, Shape, void*, Tensor**)>("ov_tensor_create_from_host_ptr")(
              static_cast<int>(type), Shape{static_cast<int64_t>(dims.size()), dims.data()}, data,
              &tensor));
    check("ov_infer_request_set_tensor",
          function<int(Request*, const char*, const Tensor*)>("ov_infer_request_set_tensor")(
              model.request, name, tensor));
    function<void(Tensor*)>("ov_tensor_free")(tensor);  // the request keeps it
  }
  void run(const Model& model) const { check("ov_infer_request_infer", infer_(model.request)); }

  // The data of an output, which the request owns, and its size in bytes.
  std::pair<const void*, size_t> output(const Model& model, const char* name) const {
    Tensor* tensor = nullptr;
    void* data = nullptr;
    size_t bytes = 0;
    check("ov_infer_request_get_tensor",
          function<int(const Request*, const char*, Tensor**)>("ov_infer_request_get_tensor")(
              model.request, name, &tensor));
    check("ov_tensor_data", function<int(const Tensor*, void**)>("ov_tensor_data")(tensor, &data));
    check("ov_tensor_get_byte_size",
          function<int(const Tensor*, size_t*)>("ov_tensor_get_byte_size")(tensor, &bytes));
    function<void(Tensor*)>("ov_tensor_free")(tensor);
    return {data, bytes};
  }

 private:
  [[noreturn]] static void fatal(const char* what, const char* message) {
    std::fprintf(stderr, "openvino: %s: %s\n", what, message);
    std::exit(1);
  }
  void* symbol(const char* name) const {
    void* found = dlsym(handle_, name);
    if (!found) fatal("dlsym", name);
    return found;
  }
  template <class F>
  F* function(const char* name) const {
    return reinterpret_cast<F*>(symbol(name));
  }
  void check(const char* what, int status) const {
    if (status == 0) return;
    fatal(what, function<const char*()>("ov_get_last_err_msg")());
  }

  void* handle_ = nullptr;
  Core* core_ = nullptr;
  std::string version_;
  int (*infer_)(Request*) = function<int(Request*)>("ov_infer_request_infer");
};

}  // namespace openvino
