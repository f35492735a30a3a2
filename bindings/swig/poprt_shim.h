// The functions that the generated wrappers of all languages call: the C ABI with types that every
// language can express. These are handles and int64_t: memory is an address and a size, a callback
// is the address of a C function, and text is a poprt_text that the typemaps convert to the
// language's string.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "poprt/poprt.h"

// A return type: an error that is not null is thrown (or returned as the language's error) and
// freed.
using poprt_result = poprt_error*;
// A return type: it is converted to the language's string and freed. Null is the empty string.
using poprt_text = poprt_string*;

// An argument: an array of int64_t. (SWIG's int64_t is long long, that of Linux is long.)
using poprt_values = const void*;

// Other names for the handles. SWIG derives the names of the functions of %extend from them, and
// raw_runner_stop, for example, must differ from poprt_runner_stop of the C ABI.
using raw_anchor = poprt_anchor;
using raw_executable = poprt_executable;
using raw_compiler = poprt_compiler;
using raw_estimate = poprt_estimate;
using raw_device_manager = poprt_device_manager;
using raw_device = poprt_device;
using raw_device_request = poprt_device_request;
using raw_runner = poprt_runner;
using raw_generator = poprt_generator;
using raw_sequence = poprt_sequence;
using raw_outputs = poprt_outputs;

namespace poprt_shim {

inline const char* or_null(const char* text) { return text && *text ? text : nullptr; }
inline const char* or_empty(const char* text) { return text ? text : ""; }
inline void* pointer(int64_t address) {
  return reinterpret_cast<void*>(static_cast<intptr_t>(address));
}
template <class Function>
Function function(int64_t address) {
  return reinterpret_cast<Function>(static_cast<intptr_t>(address));
}
inline int64_t address(const void* pointer) {
  return static_cast<int64_t>(reinterpret_cast<intptr_t>(pointer));
}

inline std::vector<int64_t> integers(poprt_values values, int64_t count) {
  const auto* first = static_cast<const int64_t*>(values);
  return std::vector<int64_t>(first, first + count);
}

// Strings for a C array of strings.
class Strings {
 public:
  void add(const char* text) {
    texts_.emplace_back(text);
    pointers_.push_back(texts_.back().c_str());
  }
  const char* const* data() const { return pointers_.data(); }
  size_t size() const { return pointers_.size(); }

 private:
  std::list<std::string> texts_;
  std::vector<const char*> pointers_;
};

// The number of bytes that language layers have copied between their own memory and memory of runs.
inline std::atomic<int64_t> copied_bytes{0};

}  // namespace poprt_shim

// The memory of the inputs and outputs of runs: bound once, used for any number of runs. The caller
// keeps the memory in place. Several threads may run with one object if it is not changed.
struct raw_bindings {
  int64_t replica = -1;  // the replica of runs; -1: any
  std::list<std::string> names;
  std::vector<poprt_input> inputs;
  std::vector<poprt_output> outputs;

  template <class Bound>
  void set(std::vector<Bound>& to, const char* name, size_t index, void* data, int64_t bytes) {
    for (auto& b : to)
      if (name ? b.name && !std::strcmp(b.name, name) : !b.name && b.index == index) {
        b.data = data;
        b.bytes = static_cast<size_t>(bytes);
        return;
      }
    if (name) name = names.emplace_back(name).c_str();
    Bound b{};
    b.name = name;
    b.index = index;
    b.data = data;
    b.bytes = static_cast<size_t>(bytes);
    to.push_back(b);
  }
};

namespace poprt_shim {

inline void set_replica(poprt_request_options& options, int64_t replica) {
  options.use_replica = replica >= 0;
  // A number of more than 32 bits becomes UINT32_MAX, which is no replica of any runner.
  options.replica = replica < 0 ? 0 : static_cast<uint32_t>(std::min<int64_t>(replica, UINT32_MAX));
}

}  // namespace poprt_shim

// Options of a request. A request waits in an unlimited line while the queue is full, so that the
// call of the language does not wait for space.
struct raw_request_options : poprt_request_options {
  raw_request_options() : poprt_request_options{} {
    struct_size = sizeof(poprt_request_options);
    when_full = POPRT_WHEN_FULL_LINE;
  }
};

namespace poprt_shim {

// Runs synchronously on the replica of the bindings.
inline poprt_error* run_on_replica(poprt_runner* runner, const raw_bindings& bindings) {
  raw_request_options options;
  set_replica(options, bindings.replica);
  options.at_once = 1;
  poprt_request* request = nullptr;
  poprt_error* error =
      poprt_runner_submit(runner, bindings.inputs.data(), bindings.inputs.size(),
                          bindings.outputs.data(), bindings.outputs.size(), &options, &request);
  if (!error) error = poprt_request_wait(request, -1);
  poprt_request_free(request);
  return error;
}

}  // namespace poprt_shim

// The inputs of a run with types and shapes.
struct raw_tensors {
  std::list<std::string> names;
  std::list<std::vector<int64_t>> shapes;
  std::vector<poprt_tensor> list;

  void add(const char* name, void* data, int64_t bytes, int32_t dtype, poprt_values shape,
           int64_t rank) {
    const auto& s = shapes.emplace_back(poprt_shim::integers(shape, rank));
    list.push_back({names.emplace_back(name).c_str(), 0, data, static_cast<size_t>(bytes), dtype, 0,
                    s.data(), s.size()});
  }
};

// Called once, when the run is over: on a thread of the runner; on the thread that cancels the run,
// stops the runner or ends the run after its time limit; or, if the run fails before submit()
// returns, on the thread that submitted it. `message` is "" for code 0, and is valid until the
// function returns. Elements of queues use the same type; session_shim.h states their threads.
using poprt_run_done_fn = void (*)(int32_t code, const char* message, void* user_data);

// An asynchronous run, owned by the language's object and, if there is one, by the pending
// callback.
struct raw_run {
  poprt_request* request = nullptr;
  poprt_run_done_fn done = nullptr;
  void* user_data = nullptr;
  std::atomic<int> holders{2};
  std::atomic<bool> arrived{false};  // the callback or the submission has completed
  poprt_error_code code = POPRT_OK;

  void release() {
    if (holders.fetch_sub(1) != 1) return;
    poprt_request_free(request);
    delete this;
  }

  // The message of a failure belongs to the request, whose handle the submission stores. Therefore
  // the later one of the callback and the submission reports the failure.
  void notify_failure() {
    poprt_error* error = poprt_request_wait(request, 0);
    done(code, poprt_error_message(error), user_data);
    poprt_error_free(error);
    release();
  }

  static void on_done(poprt_error_code code, void* user_data) {
    auto* run = static_cast<raw_run*>(user_data);
    if (code == POPRT_OK) {
      run->done(code, "", run->user_data);
      run->release();
      return;
    }
    run->code = code;
    if (run->arrived.exchange(true)) run->notify_failure();
  }

  // Keeps another reference, because a cancelled request is done, and its callback called, before
  // cancel returns.
  bool cancel() {
    holders++;
    const bool cancelled = poprt_request_cancel(request) != 0;
    release();
    return cancelled;
  }

  // Never waits. Options without a replica use that of the bindings.
  static raw_run* submit(poprt_runner* runner, const raw_bindings& bindings,
                         raw_request_options options, int64_t done, int64_t user_data,
                         poprt_result* error) {
    auto* run = new raw_run;
    run->done = poprt_shim::function<poprt_run_done_fn>(done);
    run->user_data = poprt_shim::pointer(user_data);
    poprt_request* request = nullptr;
    options.callback = run->done ? on_done : nullptr;
    options.user_data = run;
    if (!options.use_replica) poprt_shim::set_replica(options, bindings.replica);
    *error =
        poprt_runner_submit(runner, bindings.inputs.data(), bindings.inputs.size(),
                            bindings.outputs.data(), bindings.outputs.size(), &options, &request);
    if (*error) {
      delete run;
      return nullptr;
    }
    run->request = request;
    if (!run->done)
      run->holders = 1;
    else if (run->arrived.exchange(true))
      run->notify_failure();
    return run;
  }
};

// poprt_compile_options with the memory of its pointers.
struct raw_compile_options {
  poprt_compile_options options{};
  poprt_shim::Strings shape_names, length_names, opaque_names, passes, skip_passes, outputs;
  std::list<std::vector<int64_t>> shapes;
  std::vector<poprt_input_shape> input_shapes;
  std::string stop_after, cache_path, load, shapes_word;
  std::vector<poprt_input_length> input_lengths;
  std::list<std::string> opaque_data;
  std::vector<poprt_opaque_blob> opaque_blobs;
  std::list<std::pair<std::string, std::string>> named;
  std::vector<poprt_option> named_options;

  poprt_compile_options* complete() {
    options.struct_size = sizeof options;
    options.input_shapes = input_shapes.data();
    options.input_shape_count = input_shapes.size();
    options.passes = passes.data();
    options.pass_count = passes.size();
    options.skip_passes = skip_passes.data();
    options.skip_pass_count = skip_passes.size();
    options.outputs = outputs.data();
    options.output_count = outputs.size();
    options.stop_after = poprt_shim::or_null(stop_after.c_str());
    options.cache_path = poprt_shim::or_null(cache_path.c_str());
    options.load = poprt_shim::or_null(load.c_str());
    options.shapes = poprt_shim::or_null(shapes_word.c_str());
    options.input_lengths = input_lengths.data();
    options.input_length_count = input_lengths.size();
    options.opaque_blobs = opaque_blobs.data();
    options.opaque_blob_count = opaque_blobs.size();
    options.options = named_options.data();
    options.option_count = named_options.size();
    return &options;
  }
};

// poprt_runner_options with the memory of its pointers, except devices and values of inputs.
struct raw_runner_options : poprt_runner_options {
  raw_runner_options() : poprt_runner_options{} { struct_size = sizeof(poprt_runner_options); }
  raw_runner_options(const raw_runner_options&) = delete;
  raw_runner_options& operator=(const raw_runner_options&) = delete;

  std::string fault_list, numerics_word, shared_word, load_word, precision_word;
  std::vector<poprt_replica_device> devices;
  poprt_shim::Strings frozen_names;
  std::vector<poprt_input> frozen;
};

// The counters of a runner.
struct raw_counters : poprt_runner_counters {
  raw_counters() : poprt_runner_counters{} { struct_size = sizeof(poprt_runner_counters); }
};

// Files that form one model, and options for opening them.
struct raw_open_options {
  poprt_open_options options{};
  poprt_shim::Strings paths;
  std::string executable;
};

// Executables to fuse. The caller keeps them alive until they are fused.
struct raw_executables {
  std::vector<const poprt_executable*> list;
};

// Bytes that a function of the library passes to a poprt_write_fn.
struct raw_blob {
  std::string data;

  static int32_t append(const void* data, size_t size, void* user_data) {
    static_cast<raw_blob*>(user_data)->data.append(static_cast<const char*>(data), size);
    return 0;
  }
};

namespace poprt_shim {

// Runs with memory in anchor order: address and bytes of each input, then of each output.
inline poprt_error* run_table(poprt_runner* runner, poprt_values values, int64_t inputs,
                              int64_t outputs) {
  const auto* table = static_cast<const int64_t*>(values);
  constexpr size_t few = 16;
  poprt_input few_inputs[few];
  poprt_output few_outputs[few];
  std::vector<poprt_input> many_inputs;
  std::vector<poprt_output> many_outputs;
  const auto input_count = static_cast<size_t>(inputs);
  const auto output_count = static_cast<size_t>(outputs);
  poprt_input* in = few_inputs;
  poprt_output* out = few_outputs;
  if (input_count > few) {
    many_inputs.resize(input_count);
    in = many_inputs.data();
  }
  if (output_count > few) {
    many_outputs.resize(output_count);
    out = many_outputs.data();
  }
  for (size_t i = 0; i < input_count; i++, table += 2)
    in[i] = {nullptr, i, pointer(table[0]), static_cast<size_t>(table[1])};
  for (size_t i = 0; i < output_count; i++, table += 2)
    out[i] = {nullptr, i, pointer(table[0]), static_cast<size_t>(table[1])};
  return poprt_runner_execute(runner, in, input_count, out, output_count);
}

}  // namespace poprt_shim
