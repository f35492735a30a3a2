// Records the option structs that reach the C ABI. A program that is started with this library in
// LD_PRELOAD calls these functions in place of those of libpoprt.so.1. Each call appends the fields
// of its structs to the file OPTIONS_RECORD, each as a line "STRUCT.FIELD<tab>VALUE", and then
// calls the library.
//
// Each record contains the number of C++ objects that are alive, because a language could forget to
// free some.
//
// The file FIELDS contains a function `show` for each struct; options.py creates it from headers.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#include "poprt/poprt.h"

namespace {
std::atomic<int64_t> alive{0};
}

// These operators replace those of libstdc++ in all libraries, and count the objects.
void* operator new(size_t size) {
  void* const made = malloc(size ? size : 1);
  if (!made) throw std::bad_alloc();
  alive++;
  return made;
}
void operator delete(void* made) noexcept {
  if (made) alive--;
  free(made);
}
void operator delete(void* made, size_t) noexcept { operator delete(made); }

namespace {

template <class F>
F* library(const char* name) {
  static void* const handle = dlopen("libpoprt.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* const found = handle ? dlsym(handle, name) : nullptr;
  if (!found) abort();
  return reinterpret_cast<F*>(found);
}

std::string text(const char* s) { return s ? "\"" + std::string(s) + "\"" : "null"; }

std::string bytes(const void* data, size_t count) {
  std::string hex = std::to_string(count) + ":";
  char digits[3];
  for (size_t i = 0; i < count && i < 8; i++) {
    snprintf(digits, sizeof digits, "%02x", static_cast<const unsigned char*>(data)[i]);
    hex += digits;
  }
  return hex;
}

std::string device(const poprt_device* d) {
  return d ? std::to_string(library<decltype(poprt_device_id)>("poprt_device_id")(d)) : "null";
}

std::string value_text(const char* s) { return text(s); }
std::string value_text(const poprt_device* d) { return device(d); }
std::string value_text(const poprt_compiler* c) { return c ? "given" : "null"; }
std::string value_text(double v) { return std::to_string(v); }
std::string value_text(int32_t v) { return std::to_string(v); }
std::string value_text(uint32_t v) { return std::to_string(v); }
std::string value_text(int64_t v) { return std::to_string(v); }
std::string value_text(uint64_t v) { return std::to_string(v); }
template <class... A, class R>
std::string value_text(R (*function)(A...)) {
  return function ? "given" : "null";
}
std::string value_text(const poprt_input_shape& s) {
  std::string all = s.name;
  for (size_t i = 0; i < s.rank; i++) all += (i ? "x" : ":") + std::to_string(s.shape[i]);
  return all;
}
std::string value_text(const poprt_input_length& l) {
  return l.name + (":" + std::to_string(l.length));
}
std::string value_text(const poprt_opaque_blob& b) {
  return b.name + (":" + bytes(b.data, b.bytes));
}
std::string value_text(const poprt_option& o) { return o.name + std::string("=") + o.value; }
std::string value_text(const poprt_replica_device& r) {
  return std::to_string(r.replica) + ":" + device(r.device);
}
std::string value_text(const poprt_input& i) { return i.name + (":" + bytes(i.data, i.bytes)); }
std::string value_text(const poprt_output& o) { return o.name + (":" + std::to_string(o.bytes)); }

class Record {
 public:
  ~Record() {
    const char* const path = getenv("OPTIONS_RECORD");
    const int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    if (fd < 0 || write(fd, lines_.data(), lines_.size()) != static_cast<ssize_t>(lines_.size()))
      abort();
    close(fd);
  }
  template <class T>
  void put(const char* name, const T& value) {
    line(name, value_text(value));
  }
  template <class T>
  void list(const char* name, const T* values, size_t count) {
    std::string all;
    for (size_t i = 0; i < count; i++) all += (i ? "," : "") + value_text(values[i]);
    line(name, all);
  }
  void line(const std::string& name, const std::string& value) {
    lines_ += name + "\t" + value + "\n";
  }

 private:
  std::string lines_;
};

#include FIELDS

template <class Options>
void record(const char* call, const Options* options) {
  Record r;
  r.line("alive", std::to_string(alive));
  r.line("call." + std::string(call), "1");
  if (options) show(r, *options);
}

}  // namespace

#define LIBRARY(name) library<decltype(name)>(#name)

extern "C" {

poprt_error* poprt_compiler_create(const poprt_compile_options* options, poprt_compiler** out) {
  record("compiler_create", options);
  return LIBRARY(poprt_compiler_create)(options, out);
}
poprt_error* poprt_executable_open_files(const char* const* paths, size_t count,
                                         const poprt_open_options* options,
                                         poprt_executable** out) {
  record("executable_open_files", options);
  return LIBRARY(poprt_executable_open_files)(paths, count, options, out);
}
poprt_error* poprt_runner_create(const poprt_executable* e, const poprt_runner_options* options,
                                 poprt_runner** out) {
  record("runner_create", options);
  return LIBRARY(poprt_runner_create)(e, options, out);
}
poprt_error* poprt_fusion_runner_create(const poprt_executable* e,
                                        const poprt_runner_options* options, poprt_runner** out) {
  record("fusion_runner_create", options);
  return LIBRARY(poprt_fusion_runner_create)(e, options, out);
}
poprt_error* poprt_pack_runner_create(const poprt_executable* e,
                                      const poprt_pack_runner_options* options,
                                      poprt_runner** out) {
  record("pack_runner_create", options);
  return LIBRARY(poprt_pack_runner_create)(e, options, out);
}
poprt_error* poprt_session_create(const poprt_executable* e, const poprt_session_options* options,
                                  poprt_session** out) {
  record("session_create", options);
  return LIBRARY(poprt_session_create)(e, options, out);
}
poprt_error* poprt_session_create_queue_manager(poprt_session* s,
                                                const poprt_queue_options* options,
                                                poprt_queue_manager** out) {
  record("session_create_queue_manager", options);
  return LIBRARY(poprt_session_create_queue_manager)(s, options, out);
}
poprt_error* poprt_device_manager_create(const poprt_device_manager_options* options,
                                         poprt_device_manager** out) {
  record("device_manager_create", options);
  return LIBRARY(poprt_device_manager_create)(options, out);
}
poprt_error* poprt_device_manager_acquire(const poprt_device_manager* m,
                                          const poprt_device_request* request,
                                          const poprt_executable* e, int64_t id,
                                          poprt_device** out) {
  record("device_manager_acquire", request);
  Record().line("acquire.id", std::to_string(id));
  Record().line("acquire.executable", e ? "given" : "null");
  return LIBRARY(poprt_device_manager_acquire)(m, request, e, id, out);
}
poprt_error* poprt_runner_submit(poprt_runner* r, const poprt_input* in, size_t ins,
                                 const poprt_output* to, size_t outs,
                                 const poprt_request_options* options, poprt_request** out) {
  record("runner_submit", options);
  return LIBRARY(poprt_runner_submit)(r, in, ins, to, outs, options, out);
}
poprt_error* poprt_runner_submit_tensors(poprt_runner* r, const poprt_tensor* in, size_t ins,
                                         const poprt_tensor* to, size_t outs,
                                         const poprt_request_options* options,
                                         poprt_request** out) {
  record("runner_submit", options);
  return LIBRARY(poprt_runner_submit_tensors)(r, in, ins, to, outs, options, out);
}
poprt_error* poprt_generator_create(const char* path, const poprt_generator_options* options,
                                    poprt_generator** out) {
  record("generator_create", options);
  return LIBRARY(poprt_generator_create)(path, options, out);
}
poprt_error* poprt_model_apply_passes(const void* model, size_t size, const char* folder,
                                      const poprt_pass_call* passes, size_t count,
                                      const poprt_apply_options* options, poprt_string** out) {
  record("model_apply_passes", options);
  Record().line("apply.folder", text(folder));
  return LIBRARY(poprt_model_apply_passes)(model, size, folder, passes, count, options, out);
}

// Returns known numbers, which are all different, instead of the counters of the runner.
poprt_error* poprt_runner_get_counters(poprt_runner*, int64_t, poprt_runner_counters* out) {
  fill(*out);
  return nullptr;
}

}  // extern "C"
