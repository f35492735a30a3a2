// The raw layer of every language over capi/include/poprt. Each language's poprt_lang.i, selected by the order of -I,
// maps the following types with typemaps:
//
//   poprt_result                 returned: not null is an error: throw (or return) it, and free it
//   poprt_result* error          last argument of functions that return another type: the same
//   poprt_text                   returned: a string of the language; freed
//   const char*                  UTF-8; never null. "" stands for C's null where that is allowed
//   poprt_values values          an array of the language; the next argument is its length
//   int64_t address, int64_t bytes   memory that the caller keeps where it is
//   int64_t *_fn                 address of a C function
//
// Names begin with Raw because the layer is private. The hand-written layer over it is public.
%module poprt_raw

%{
#include "log_shim.h"
#include "passes_shim.h"
#include "popef_shim.h"
#include "poprt_shim.h"
#include "runners_shim.h"
#include "session_shim.h"
%}

%include <stdint.i>

typedef const void* poprt_values;

%include "poprt_lang.i"

%define POPRT_HANDLE(c_name, raw_name)
%rename(raw_name) c_name;
%nodefaultctor c_name;
%nodefaultdtor c_name;
struct c_name {};
%enddef

POPRT_HANDLE(raw_anchor, RawAnchor)
POPRT_HANDLE(raw_executable, RawExecutable)
POPRT_HANDLE(raw_open_options, RawOpenOptions)
POPRT_HANDLE(raw_executables, RawExecutables)
POPRT_HANDLE(raw_blob, RawBlob)
POPRT_HANDLE(raw_compile_options, RawCompileOptions)
POPRT_HANDLE(raw_compiler, RawCompiler)
POPRT_HANDLE(raw_estimate, RawEstimate)
POPRT_HANDLE(raw_device_manager, RawDeviceManager)
POPRT_HANDLE(raw_device, RawDevice)
POPRT_HANDLE(raw_runner, RawRunner)
POPRT_HANDLE(raw_bindings, RawBindings)
POPRT_HANDLE(raw_tensors, RawTensors)
POPRT_HANDLE(raw_outputs, RawOutputs)
POPRT_HANDLE(raw_run, RawRun)
POPRT_HANDLE(raw_log, RawLog)

// -- anchors ----------------------------------------------------------------------------------

// Borrowed from the executable, runner, session or queue that returns the anchor. The language's layer keeps that
// object alive while it reads the anchor.
%extend raw_anchor {
  const char* name() { return poprt_anchor_name($self); }
  int32_t dtype() { return poprt_anchor_dtype($self); }
  int64_t rank() { return static_cast<int64_t>(poprt_anchor_rank($self)); }
  // Returns 0 for an index after the end.
  int64_t dimension(int64_t index) {
    const auto i = static_cast<size_t>(index);
    return i < poprt_anchor_rank($self) ? poprt_anchor_shape($self)[i] : 0;
  }
  int64_t bytes() { return static_cast<int64_t>(poprt_anchor_bytes($self)); }
}

// -- executables ------------------------------------------------------------------------------

%extend raw_open_options {
  raw_open_options() { return new raw_open_options; }
  ~raw_open_options() { delete $self; }
  void add_path(const char* path) { $self->paths.add(path); }
  void set_ignore_package_hash(bool on) { $self->options.ignore_package_hash = on; }
  void set_executable(const char* name) { $self->executable = name; }
}

%extend raw_executables {
  raw_executables() { return new raw_executables; }
  ~raw_executables() { delete $self; }
  void add(const raw_executable& executable) { $self->list.push_back(&executable); }
}

%extend raw_blob {
  ~raw_blob() { delete $self; }
  int64_t address() { return poprt_shim::address($self->data.data()); }
  int64_t bytes() { return static_cast<int64_t>($self->data.size()); }
}

%newobject raw_executable::open_file;
%newobject raw_executable::open_bytes;
%newobject raw_executable::load;
%newobject raw_executable::open_files;
%newobject raw_executable::open_model;
%newobject raw_executable::fuse;
%newobject raw_executable::popef_model;
%newobject raw_executable::save_bytes;
%extend raw_executable {
  static raw_executable* open_file(const char* path, poprt_result* error) {
    raw_executable* made = nullptr;
    *error = poprt_executable_open(path, &made);
    return made;
  }
  // Opens a PopEF file, or compiles an ONNX model with these options and caches it.
  static raw_executable* load(const char* path, raw_compile_options& options, poprt_result* error) {
    raw_executable* made = nullptr;
    *error = poprt_executable_load(path, options.complete(), &made);
    return made;
  }
  // The language's layer copies the entries because they are borrowed.
  int64_t metadata_count() { return static_cast<int64_t>(poprt_executable_metadata_count($self)); }
  const char* metadata_key(int64_t index) {
    return poprt_shim::or_empty(poprt_executable_metadata_key($self, static_cast<size_t>(index)));
  }
  const char* metadata_value(int64_t index) {
    return poprt_shim::or_empty(poprt_executable_metadata_value($self, static_cast<size_t>(index)));
  }
  static raw_executable* open_bytes(int64_t address, int64_t bytes, poprt_result* error) {
    raw_executable* made = nullptr;
    *error = poprt_executable_open_bytes(poprt_shim::pointer(address), static_cast<size_t>(bytes), &made);
    return made;
  }
  static raw_executable* open_files(const raw_open_options& files, poprt_result* error) {
    poprt_open_options options = files.options;
    options.struct_size = sizeof options;
    options.executable = poprt_shim::or_null(files.executable.c_str());
    raw_executable* made = nullptr;
    *error = poprt_executable_open_files(files.paths.data(), files.paths.size(), &options, &made);
    return made;
  }
  static raw_executable* fuse(const raw_executables& parts, poprt_result* error) {
    raw_executable* made = nullptr;
    *error = poprt_executable_fuse(parts.list.data(), parts.list.size(), &made);
    return made;
  }
  // `executable` of the options is ignored.
  static raw_executable* open_model(const raw_popef_model& model, const raw_open_options& how,
                                    poprt_result* error) {
    poprt_open_options options = how.options;
    options.struct_size = sizeof options;
    raw_executable* made = nullptr;
    *error = poprt_executable_open_model(&model, &options, &made);
    return made;
  }
  raw_popef_model* popef_model(poprt_result* error) {
    raw_popef_model* made = nullptr;
    *error = poprt_executable_popef_model($self, &made);
    return made;
  }
  ~raw_executable() { poprt_executable_free($self); }
  raw_blob* save_bytes(poprt_result* error) {
    auto* blob = new raw_blob;
    *error = poprt_executable_save_bytes($self, raw_blob::append, blob);
    if (!*error) return blob;
    delete blob;
    return nullptr;
  }
  int64_t input_count() { return static_cast<int64_t>(poprt_executable_input_count($self)); }
  int64_t output_count() { return static_cast<int64_t>(poprt_executable_output_count($self)); }
  const raw_anchor* input_anchor(int64_t index) {
    return poprt_executable_input($self, static_cast<size_t>(index));
  }
  const raw_anchor* output_anchor(int64_t index) {
    return poprt_executable_output($self, static_cast<size_t>(index));
  }
  const char* name() { return poprt_executable_name($self); }
  // <functions:executable> made from capi/functions.toml by tests/lint/functions.py --write
  poprt_result save(const char* path) { return poprt_executable_save($self, path); }
  poprt_result save_parts(const char* executable_path, const char* variables_path) {
    return poprt_executable_save_parts($self, executable_path, variables_path);
  }
  int64_t weights_bytes() { return static_cast<int64_t>(poprt_executable_weights_bytes($self)); }
  int64_t arena_bytes() { return static_cast<int64_t>(poprt_executable_arena_bytes($self)); }
  poprt_text listing(poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_executable_listing($self, &text);
    return text;
  }
  poprt_text batching_refusal(int64_t dimension, poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_executable_batching_refusal($self, static_cast<size_t>(dimension), &text);
    return text;
  }
  poprt_text estimate(poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_executable_estimate($self, &text);
    return text;
  }
  // </functions:executable>
}

// -- compiler ---------------------------------------------------------------------------------

%extend raw_compile_options {
  raw_compile_options() { return new raw_compile_options; }
  ~raw_compile_options() { delete $self; }
  void add_input_shape(const char* name, poprt_values values, int64_t count) {
    $self->shape_names.add(name);
    auto& shape = $self->shapes.emplace_back(poprt_shim::integers(values, count));
    $self->input_shapes.push_back(
        {$self->shape_names.data()[$self->shape_names.size() - 1], shape.data(), shape.size()});
  }
  // Sets the number of elements of a sequence.
  void add_input_length(const char* name, int64_t length) {
    $self->length_names.add(name);
    $self->input_lengths.push_back({$self->length_names.data()[$self->length_names.size() - 1], length});
  }
  void set_batch_size(int64_t size, int64_t axis) {
    $self->options.batch_size = size;
    $self->options.batch_axis = axis;
  }
  void set_max_padding(double fraction) { $self->options.max_padding = fraction; }
  void set_precision(int32_t precision) { $self->options.precision = precision; }
  void set_winograd(int32_t winograd) { $self->options.winograd = winograd; }
  void set_verify(bool on) { $self->options.no_verify = !on; }
  void add_pass(const char* name) { $self->passes.add(name); }
  void add_skip_pass(const char* name) { $self->skip_passes.add(name); }
  void set_max_tensor_size(int64_t bytes) { $self->options.max_tensor_size = bytes; }
  void set_rewrite_limit(int64_t limit) { $self->options.rewrite_limit = limit; }
  void set_stop_after(const char* pass) { $self->stop_after = pass; }
  void set_load(const char* load) { $self->load = load; }
  void set_shapes(const char* shapes) { $self->shapes_word = shapes; }
  void add_output(const char* name) { $self->outputs.add(name); }
  void set_convert_version(int64_t opset) { $self->options.convert_version = opset; }
  void set_engine_caching(bool on, const char* cache_path) {
    $self->options.enable_engine_caching = on;
    $self->cache_path = cache_path;
  }
  // Copies the bytes.
  void add_opaque_blob(const char* name, int64_t address, int64_t bytes) {
    const auto* from = static_cast<const char*>(poprt_shim::pointer(address));
    const std::string& data = $self->opaque_data.emplace_back(from, static_cast<size_t>(bytes));
    $self->opaque_names.add(name);
    $self->opaque_blobs.push_back(
        {$self->opaque_names.data()[$self->opaque_names.size() - 1], data.data(), data.size()});
  }
  // Sets an option by name, see poprt_option.
  void add_option(const char* name, const char* value) {
    const auto& kept = $self->named.emplace_back(name, value);
    $self->named_options.push_back({kept.first.c_str(), kept.second.c_str()});
    $self->options.options = $self->named_options.data();
  }
  void set_allow_links(bool on) { $self->options.allow_links = on; }
  void set_variable_weights(bool on) { $self->options.variable_weights = on; }
  void set_strict(bool on) { $self->options.strict = on; }
  void set_embed_source(bool on) { $self->options.embed_source = on; }
  // The functions are a poprt_progress_fn and a poprt_pass_fn, or 0 for none. They are called on the compiling thread.
  void set_callbacks(int64_t progress_fn, int64_t after_pass_fn, int64_t user_data) {
    $self->options.progress = poprt_shim::function<poprt_progress_fn>(progress_fn);
    $self->options.after_pass = poprt_shim::function<poprt_pass_fn>(after_pass_fn);
    $self->options.user_data = poprt_shim::pointer(user_data);
  }
  // `stop_fn` is a poprt_stop_fn, which receives the user data of set_callbacks().
  void set_stop(int64_t stop_fn) { $self->options.stop = poprt_shim::function<poprt_stop_fn>(stop_fn); }
}

%newobject raw_compiler::compile_file;
%newobject raw_compiler::compile_bytes;
%newobject raw_compiler::estimate_file;
%extend raw_compiler {
  raw_compiler(raw_compile_options& options, poprt_result* error) {
    raw_compiler* made = nullptr;
    *error = poprt_compiler_create(options.complete(), &made);
    return made;
  }
  ~raw_compiler() { poprt_compiler_free($self); }
  raw_executable* compile_file(const char* onnx_path, poprt_result* error) {
    raw_executable* made = nullptr;
    *error = poprt_compiler_compile_file($self, onnx_path, &made);
    return made;
  }
  raw_executable* compile_bytes(int64_t address, int64_t bytes, const char* folder,
                                  poprt_result* error) {
    raw_executable* made = nullptr;
    *error = poprt_compiler_compile_bytes($self, poprt_shim::pointer(address), static_cast<size_t>(bytes),
                                          poprt_shim::or_null(folder), &made);
    return made;
  }
  raw_estimate* estimate_file(const char* onnx_path, poprt_result* error) {
    raw_estimate* made = nullptr;
    *error = poprt_compiler_estimate_file($self, onnx_path, &made);
    return made;
  }
  // <functions:compiler> made from capi/functions.toml by tests/lint/functions.py --write
  poprt_result compile_to_popef(const char* onnx_path, const char* popef_path) {
    return poprt_compiler_compile_to_popef($self, onnx_path, popef_path);
  }
  poprt_result convert_file(const char* onnx_path, const char* out_onnx_path) {
    return poprt_compiler_convert_file($self, onnx_path, out_onnx_path);
  }
  poprt_text show_file(const char* onnx_path, poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_compiler_show_file($self, onnx_path, &text);
    return text;
  }
  poprt_text io_stat_file(const char* onnx_path, poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_compiler_io_stat_file($self, onnx_path, &text);
    return text;
  }
  // </functions:compiler>
  static poprt_text list_passes(poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_compiler_list_passes(&text);
    return text;
  }
  // Only the paths of `models` are used.
  static poprt_result fuse_files(const raw_open_options& models, const char* out_onnx_path) {
    return poprt_compiler_fuse_files(models.paths.data(), models.paths.size(), out_onnx_path);
  }
  static poprt_text list_ops(poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_compiler_list_ops(&text);
    return text;
  }
  static poprt_text list_options(poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_compiler_list_options(&text);
    return text;
  }
  // Loads a user's library for all compilers and runners of the process.
  static poprt_result load_plugin(const char* path) { return poprt_plugin_load(path); }
  static poprt_text list_plugins(poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_plugin_list(&text);
    return text;
  }
}

%extend raw_estimate {
  ~raw_estimate() { poprt_estimate_free($self); }
  // <functions:estimate> made from capi/functions.toml by tests/lint/functions.py --write
  poprt_text target(poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_estimate_target($self, &text);
    return text;
  }
  int64_t cycles() { return poprt_estimate_cycles($self); }
  int64_t samples() { return poprt_estimate_samples($self); }
  double milliseconds() { return poprt_estimate_milliseconds($self); }
  double period_milliseconds() { return poprt_estimate_period_milliseconds($self); }
  double latency_milliseconds() { return poprt_estimate_latency_milliseconds($self); }
  double host_milliseconds() { return poprt_estimate_host_milliseconds($self); }
  double throughput() { return poprt_estimate_throughput($self); }
  double utilization() { return poprt_estimate_utilization($self); }
  int64_t tile_bytes() { return static_cast<int64_t>(poprt_estimate_tile_bytes($self)); }
  int64_t available_bytes() { return static_cast<int64_t>(poprt_estimate_available_bytes($self)); }
  bool fits() { return poprt_estimate_fits($self) != 0; }
  poprt_text cycle_quality(poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_estimate_cycle_quality($self, &text);
    return text;
  }
  poprt_text memory_quality(poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_estimate_memory_quality($self, &text);
    return text;
  }
  poprt_text host_quality(poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_estimate_host_quality($self, &text);
    return text;
  }
  poprt_text json(poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_estimate_json($self, &text);
    return text;
  }
  poprt_text report(poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_estimate_report($self, &text);
    return text;
  }
  poprt_text svg(poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_estimate_svg($self, &text);
    return text;
  }
  // </functions:estimate>
}

// -- devices ----------------------------------------------------------------------------------

// The numbers are attributes, as in the C struct.
%rename(RawDeviceRequest) raw_device_request;
struct raw_device_request {
  int64_t num_ipus;
  int64_t min_tiles;
  int32_t ipu_version;
  int32_t remote_buffers;
  int32_t wait_strategy;
  int64_t wait_timeout_ns;
  int64_t wait_sleep_ns;
};
%extend raw_device_request {
  raw_device_request() {
    auto* request = new raw_device_request{};
    request->struct_size = sizeof *request;
    return request;
  }
  ~raw_device_request() { delete $self; }
}

%newobject raw_device_manager::acquire;
%newobject raw_device_manager::acquire_for;
%newobject raw_device_manager::create_ipu_model_device;
%newobject raw_device_manager::create_small_ipu_model_device;
%newobject raw_device_manager::get_device;
%newobject raw_device_manager::get_specific_device;
%extend raw_device_manager {
  // 0 and "" mean the values of the environment.
  raw_device_manager(int64_t device_count, const char* visible, const char* shared, poprt_result* error) {
    poprt_device_manager_options options{};
    options.struct_size = sizeof options;
    const bool fits = device_count >= INT32_MIN && device_count <= INT32_MAX;
    options.device_count = fits ? static_cast<int32_t>(device_count) : -1;
    options.visible = poprt_shim::or_null(visible);
    options.shared = poprt_shim::or_null(shared);
    raw_device_manager* made = nullptr;
    *error = poprt_device_manager_create(&options, &made);
    return made;
  }
  ~raw_device_manager() { poprt_device_manager_free($self); }
  int64_t device_count() { return static_cast<int64_t>(poprt_device_manager_device_count($self)); }
  raw_device* get_device(int64_t num_ipus, poprt_result* error) {
    raw_device* made = nullptr;
    *error = poprt_device_manager_get_device($self, num_ipus, &made);
    return made;
  }
  raw_device* get_specific_device(int64_t id, poprt_result* error) {
    raw_device* made = nullptr;
    *error = poprt_device_manager_get_specific_device($self, id, &made);
    return made;
  }
  int64_t device_id(int64_t index) {
    return poprt_device_manager_device_id($self, static_cast<size_t>(index));
  }
  // Acquires the device with `id`, or any for -1; waits as the request specifies.
  raw_device* acquire(const raw_device_request& request, int64_t id, poprt_result* error) {
    raw_device* made = nullptr;
    *error = poprt_device_manager_acquire($self, &request, nullptr, id, &made);
    return made;
  }
  raw_device* acquire_for(const raw_executable& executable, const raw_device_request& request,
                          int64_t id, poprt_result* error) {
    raw_device* made = nullptr;
    *error = poprt_device_manager_acquire($self, &request, &executable, id, &made);
    return made;
  }
  raw_device* create_ipu_model_device(int64_t num_ipus, int32_t ipu_version, int64_t tiles_per_ipu,
                                      poprt_result* error) {
    raw_device* made = nullptr;
    *error = poprt_device_manager_create_ipu_model_device($self, num_ipus, ipu_version, tiles_per_ipu, &made);
    return made;
  }
  raw_device* create_small_ipu_model_device(int64_t num_ipus, int32_t ipu_version, poprt_result* error) {
    raw_device* made = nullptr;
    *error = poprt_device_manager_create_small_ipu_model_device($self, num_ipus, ipu_version, &made);
    return made;
  }
  const char* ipu_hardware_version() { return poprt_device_manager_ipu_hardware_version($self); }
}

%extend raw_device {
  ~raw_device() { poprt_device_free($self); }
  int64_t device_id() { return poprt_device_id($self); }
  int32_t ipu_version() { return poprt_device_ipu_version($self); }
  int64_t num_ipus() { return poprt_device_num_ipus($self); }
  int64_t tiles_per_ipu() { return poprt_device_tiles_per_ipu($self); }
  bool is_ipu_model() { return poprt_device_is_ipu_model($self) != 0; }
}

// -- runner -----------------------------------------------------------------------------------

// The numbers are attributes; the device is set by a function.
%rename(RawRunnerOptions) raw_runner_options;
struct raw_runner_options {
  // <options:runner>
  int32_t threads;
  int32_t profile;
  int32_t queue_depth;
  int32_t telemetry;
  int64_t timeout_ns;
  int32_t not_thread_safe;
  int32_t no_validate_io_params;
  int32_t use_batching_dim;
  uint32_t batching_dim;
  int32_t ring_buffer_size_multiplier;
  int32_t auto_reset;
  int32_t flush_on_waiting_outputs;
  int32_t is_batch_size_timeout_enabled;
  int64_t batch_size_timeout_ns;
  int64_t data_parallel_timeout_ns;
  int64_t request_tracepoints_buffer_size;
  int32_t replication_factor;
  int32_t overlap_io;
  int64_t batches_per_step;
  int64_t device_wait_timeout_ns;
  int64_t device_wait_sleep_ns;
  int32_t verify;
  int32_t max_shapes;
  int64_t max_shape_memory;
  // </options:runner>
};
%extend raw_runner_options {
  raw_runner_options() { return new raw_runner_options; }
  ~raw_runner_options() { delete $self; }
  // The caller keeps devices and values alive until the runner is created.
  void set_device(raw_device* device) { $self->device = device; }
  void add_replica_device(int64_t replica, raw_device* device) {
    $self->devices.push_back({replica, device});
    $self->replica_devices = $self->devices.data();
    $self->replica_device_count = $self->devices.size();
  }
  void add_frozen_input(const char* name, int64_t address, int64_t bytes) {
    $self->frozen_names.add(name);
    $self->frozen.push_back({$self->frozen_names.data()[$self->frozen_names.size() - 1], 0,
                             poprt_shim::pointer(address), static_cast<size_t>(bytes)});
    $self->frozen_inputs = $self->frozen.data();
    $self->frozen_input_count = $self->frozen.size();
  }
  // "" means POPRT_INJECT_FAULTS.
  void set_faults(const char* faults) {
    $self->fault_list = faults;
    $self->faults = poprt_shim::or_null($self->fault_list.c_str());
  }
  // "" means POPRT_SHARED_DEVICES.
  void set_shared_devices(const char* shared) {
    $self->shared_word = shared;
    $self->shared_devices = poprt_shim::or_null($self->shared_word.c_str());
  }
  // "" means "map".
  void set_load(const char* load) {
    $self->load_word = load;
    $self->load = poprt_shim::or_null($self->load_word.c_str());
  }
  // "" means "fast".
  void set_numerics(const char* numerics) {
    $self->numerics_word = numerics;
    $self->numerics = poprt_shim::or_null($self->numerics_word.c_str());
  }
  // "" means the precision of the executable.
  void set_execution_precision(const char* precision) {
    $self->precision_word = precision;
    $self->execution_precision = poprt_shim::or_null($self->precision_word.c_str());
  }
}

// Options of a request.
%rename(RawRequestOptions) raw_request_options;
struct raw_request_options {
  // <options:request>
  int64_t timeout_ns;
  int32_t at_once;
  // </options:request>
};
%extend raw_request_options {
  raw_request_options() { return new raw_request_options; }
  ~raw_request_options() { delete $self; }
  // A negative number means any replica.
  void set_replica(int64_t replica) {
    $self->use_replica = replica >= 0;
    $self->replica = replica >= 0 ? static_cast<uint32_t>(replica) : 0;
  }
}

%extend raw_bindings {
  raw_bindings() { return new raw_bindings; }
  ~raw_bindings() { delete $self; }
  // Sets the replica of runs; a negative number means any.
  void set_replica(int64_t replica) { $self->replica = replica; }
  void set_input(const char* name, int64_t address, int64_t bytes) {
    $self->set($self->inputs, name, 0, poprt_shim::pointer(address), bytes);
  }
  void set_output(const char* name, int64_t address, int64_t bytes) {
    $self->set($self->outputs, name, 0, poprt_shim::pointer(address), bytes);
  }
  void set_input_at(int64_t index, int64_t address, int64_t bytes) {
    $self->set($self->inputs, nullptr, static_cast<size_t>(index), poprt_shim::pointer(address), bytes);
  }
  void set_output_at(int64_t index, int64_t address, int64_t bytes) {
    $self->set($self->outputs, nullptr, static_cast<size_t>(index), poprt_shim::pointer(address), bytes);
  }
}

// The inputs of a run with types and shapes. The caller keeps the memory in place.
%extend raw_tensors {
  raw_tensors() { return new raw_tensors; }
  ~raw_tensors() { delete $self; }
  // With dtype 0, the memory is bytes of any type and shape.
  void add(const char* name, int64_t address, int64_t bytes, int32_t dtype, poprt_values values, int64_t rank) {
    $self->add(name, poprt_shim::pointer(address), bytes, dtype, values, rank);
  }
}

// The outputs of a run, which own their memory.
%extend raw_outputs {
  ~raw_outputs() { poprt_outputs_free($self); }
  int64_t count() { return static_cast<int64_t>(poprt_outputs_count($self)); }
  const char* name(int64_t index) { return poprt_outputs_at($self, static_cast<size_t>(index))->name; }
  int32_t dtype(int64_t index) { return poprt_outputs_at($self, static_cast<size_t>(index))->dtype; }
  int64_t rank(int64_t index) {
    return static_cast<int64_t>(poprt_outputs_at($self, static_cast<size_t>(index))->rank);
  }
  int64_t dimension(int64_t index, int64_t d) {
    return poprt_outputs_at($self, static_cast<size_t>(index))->shape[d];
  }
  int64_t address(int64_t index) {
    return poprt_shim::address(poprt_outputs_at($self, static_cast<size_t>(index))->data);
  }
  int64_t bytes(int64_t index) {
    return static_cast<int64_t>(poprt_outputs_at($self, static_cast<size_t>(index))->bytes);
  }
}

// Counters as signed numbers, because not every language has unsigned 64-bit integers.
%rename(RawCounters) raw_counters;
%nodefaultctor raw_counters;
%nodefaultdtor raw_counters;
%immutable;
struct raw_counters {
  // <counters:attributes> made from capi/counters.toml by tests/lint/counter_fields.py --write
  int64_t submitted;
  int64_t completed;
  int64_t failed;
  int64_t cancelled;
  int64_t timed_out;
  int64_t rows;
  int64_t padded_rows;
  int64_t batches;
  int64_t steps;
  int64_t device_errors;
  int64_t resets;
  int64_t in_flight;
  int64_t queue_capacity;
  int64_t latency_count;
  int64_t latency_total_ns;
  int64_t latency_max_ns;
  int64_t latency_p50_ns;
  int64_t latency_p99_ns;
  int64_t replicas;
  // </counters:attributes>
};
%mutable;
%extend raw_counters {
  ~raw_counters() { delete $self; }
  int64_t bucket_count() { return POPRT_LATENCY_BUCKETS; }
  int64_t latency_bucket(int64_t index) {
    return static_cast<int64_t>($self->latency_buckets[index]);
  }
}

%newobject raw_runner::run;
%newobject raw_runner::counters;
%newobject raw_runner::execute_async;
%newobject raw_runner::execute_async_with;
%extend raw_runner {
  raw_runner(const raw_executable* executable, const raw_runner_options* options,
               poprt_result* error) {
    raw_runner* made = nullptr;
    *error = poprt_runner_create(executable, options, &made);
    return made;
  }
  ~raw_runner() { poprt_runner_free($self); }
  int64_t input_count() { return static_cast<int64_t>(poprt_runner_input_count($self)); }
  int64_t output_count() { return static_cast<int64_t>(poprt_runner_output_count($self)); }
  const raw_anchor* input_anchor(int64_t index) {
    return poprt_runner_input($self, static_cast<size_t>(index));
  }
  const raw_anchor* output_anchor(int64_t index) {
    return poprt_runner_output($self, static_cast<size_t>(index));
  }
  raw_outputs* run(const raw_tensors& inputs, poprt_result* error) {
    raw_outputs* made = nullptr;
    *error = poprt_runner_run($self, inputs.list.data(), inputs.list.size(), &made);
    return made;
  }
  poprt_result execute(const raw_bindings& bindings) {
    if (bindings.replica >= 0) return poprt_shim::run_on_replica($self, bindings);
    return poprt_runner_execute($self, bindings.inputs.data(), bindings.inputs.size(),
                                bindings.outputs.data(), bindings.outputs.size());
  }
  // Address and bytes of each input, then of each output, in anchor order.
  poprt_result execute_table(poprt_values values, int64_t inputs, int64_t outputs) {
    return poprt_shim::run_table($self, values, inputs, outputs);
  }
  // `done_fn` is a poprt_run_done_fn or 0. It is not called if this call fails.
  raw_run* execute_async(const raw_bindings& bindings, int64_t done_fn, int64_t user_data,
                           poprt_result* error) {
    return raw_run::submit($self, bindings, {}, done_fn, user_data, error);
  }
  raw_run* execute_async_with(const raw_bindings& bindings, const raw_request_options& options, int64_t done_fn,
                              int64_t user_data, poprt_result* error) {
    return raw_run::submit($self, bindings, options, done_fn, user_data, error);
  }
  // <functions:runner> made from capi/functions.toml by tests/lint/functions.py --write
  bool input_has_data(int64_t index) { return poprt_runner_input_has_data($self, static_cast<size_t>(index)) != 0; }
  int64_t input_index(const char* name, poprt_result* error) {
    size_t value = 0;
    *error = poprt_runner_input_index($self, name, &value);
    return static_cast<int64_t>(value);
  }
  int64_t output_index(const char* name, poprt_result* error) {
    size_t value = 0;
    *error = poprt_runner_output_index($self, name, &value);
    return static_cast<int64_t>(value);
  }
  poprt_text statistics(poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_runner_statistics($self, &text);
    return text;
  }
  poprt_text tracepoints(poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_runner_tracepoints($self, &text);
    return text;
  }
  poprt_text profile(poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_runner_profile($self, &text);
    return text;
  }
  poprt_result warm_up(const char* shapes) { return poprt_runner_warm_up($self, shapes); }
  poprt_text open_dimensions(poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_runner_open_dimensions($self, &text);
    return text;
  }
  void stop() { poprt_runner_stop($self); }
  void drain() { poprt_runner_drain($self); }
  // </functions:runner>
  // Returns the counters of one replica, or for -1 those of all replicas together.
  raw_counters* counters(int64_t replica, poprt_result* error) {
    auto* made = new raw_counters;
    *error = poprt_runner_get_counters($self, replica, made);
    if (!*error) return made;
    delete made;
    return nullptr;
  }
}

%extend raw_run {
  ~raw_run() { $self->release(); }
  // A negative time means no limit.
  poprt_result wait_for(int64_t timeout_ns) { return poprt_request_wait($self->request, timeout_ns); }
  bool done() { return poprt_request_done($self->request) != 0; }
  // Returns true if the request has failed with cancelled and its memory is no longer used.
  bool cancel() { return $self->cancel(); }
}

// -- log messages -----------------------------------------------------------------------------

// A receiver of messages. A thread of the language takes them one by one, until close() is called and take() returns
// false. The receiver must not be freed during a call.
%extend raw_log {
  raw_log() { return new raw_log; }
  ~raw_log() { delete $self; }
  bool take() { return $self->take(); }
  int32_t level() { return $self->level(); }
  const char* text() { return $self->text(); }
  void close() { $self->close(); }
}

%include "passes.i"
%include "popef.i"
%include "runners.i"
%include "session.i"
%include "generator.i"

// -- everything else --------------------------------------------------------------------------

%inline %{
// The version of the headers of the wrapper, and that of the loaded library.
static int32_t raw_header_version() { return POPRT_VERSION; }
static int32_t raw_version() { return poprt_version(); }
// As promised in ABI.md, a program works with later versions of the same major version.
static bool raw_version_fits(int32_t header, int32_t found) {
  return found / 1000000 == header / 1000000 && found / 1000 >= header / 1000;
}
static const char* raw_version_string() { return poprt_version_string(); }

static const char* raw_dtype_name(int32_t dtype) { return poprt_dtype_name(dtype); }
static int32_t raw_dtype_bits(int32_t dtype) { return poprt_dtype_bits(dtype); }
static const char* raw_error_code_name(int32_t code) { return poprt_error_code_name(code); }

static poprt_result raw_set_log_level(const char* level) { return poprt_log_set_level(level); }

static poprt_text raw_popef_dump(const char* path, int32_t format, poprt_result* error) {
  poprt_string* text = nullptr;
  *error = poprt_popef_dump(path, format, &text);
  return text;
}
// If `executable` is "", the tensor may belong to any executable.
static poprt_result raw_popef_export_tensor(const char* path, const char* name, const char* executable,
                                            const char* npy_path) {
  return poprt_popef_export_tensor(path, name, poprt_shim::or_null(executable), npy_path);
}
static poprt_result raw_popef_export_feed(const char* path, const char* name, const char* executable,
                                          const char* npy_path) {
  return poprt_popef_export_feed(path, name, poprt_shim::or_null(executable), npy_path);
}

// If `folder` is "", the default folder is used.
static poprt_text raw_telemetry_read(const char* folder, poprt_result* error) {
  poprt_string* text = nullptr;
  *error = poprt_telemetry_read(poprt_shim::or_null(folder), &text);
  return text;
}

// The number of bytes that the language's layer has copied to or from the memory of runs.
static int64_t raw_bytes_copied() { return poprt_shim::copied_bytes; }
static void raw_add_bytes_copied(int64_t bytes) { poprt_shim::copied_bytes += bytes; }
%}
