// Mappings of the common declarations to Go. Errors and text are passed as pointers that package native converts to Go
// values with another call; a success needs no such call.
struct raw_runner;
struct raw_runner_options;
struct raw_sequence;

%insert(cgo_comment_typedefs) %{
#cgo pkg-config: poprt
#cgo CXXFLAGS: -std=c++17 -fno-strict-aliasing -fvisibility=hidden
%}

%typemap(gotype) poprt_result "uintptr"
%typemap(out) poprt_result "$result = $1;"
%typemap(gotype) poprt_result* error "*uintptr"
%typemap(in) poprt_result* error "$1 = (poprt_result*)$input;"

// The C ABI throws nothing, but the code around it allocates memory. A panic with this text becomes an error.
%exception {
  try {
    $action
  } catch (const std::bad_alloc&) {
    _swig_gopanic("poprt: out of memory");
  } catch (const std::exception& e) {
    _swig_gopanic(e.what());
  }
}

// A C string would end at a zero character.
%typemap(goin) const char* "$result = text(\"$1_name\", $input)"

%typemap(gotype) poprt_text "uintptr"
%typemap(out) poprt_text "$result = $1;"

%{
#include "poprt_go.h"
%}

%typemap(gotype) poprt_values "[]int64"
%typemap(in) poprt_values "$1 = $input.array;"

%inline %{
// `values` are numbers of each input, then of each output, as poprt_go::Entries reads them.
static poprt_result raw_execute(raw_runner* runner, poprt_values values, int64_t inputs, int64_t outputs) {
  poprt_go::Entries entries(values, inputs, outputs);
  return poprt_runner_execute_tensors(runner, entries.in(), entries.inputs(), entries.out(), entries.outputs());
}
// Never waits. raw_next_done() returns `id` when the request is done. `given` is the address of the options, or 0 for
// the defaults. `replica` is used if they name none; -1 means any.
static int64_t raw_submit(raw_runner* runner, poprt_values values, int64_t inputs, int64_t outputs, int64_t given,
                          int64_t replica, int64_t id, poprt_result* error) {
  poprt_go::Entries entries(values, inputs, outputs);
  raw_request_options options;
  if (given) options = *static_cast<const raw_request_options*>(poprt_shim::pointer(given));
  options.callback = poprt_go::Completions::on_done;
  options.user_data = poprt_shim::pointer(id);
  if (!options.use_replica) poprt_shim::set_replica(options, replica);
  poprt_request* request = nullptr;
  *error = poprt_runner_submit_tensors(runner, entries.in(), entries.inputs(), entries.out(), entries.outputs(), &options,
                                       &request);
  return poprt_shim::address(request);
}
// The parts of a run with allocated outputs: memory, the request, and cropping.
static raw_outputs* raw_outputs_for(raw_runner* runner, const raw_tensors& inputs, poprt_result* error) {
  poprt_outputs* made = nullptr;
  *error = poprt_outputs_create(runner, inputs.list.data(), inputs.list.size(), &made);
  return made;
}
// Like raw_submit(), for a caller that waits; `outputs` must exist until the request is done.
static int64_t raw_submit_tensors(raw_runner* runner, const raw_tensors& inputs, raw_outputs* outputs, int64_t id,
                                  poprt_result* error) {
  raw_request_options options;
  options.at_once = 1;  // the caller waits
  options.callback = poprt_go::Completions::on_done;
  options.user_data = poprt_shim::pointer(id);
  poprt_request* request = nullptr;
  std::vector<poprt_tensor> made;
  for (size_t i = 0; i < poprt_outputs_count(outputs); i++) made.push_back(*poprt_outputs_at(outputs, i));
  *error = poprt_runner_submit_tensors(runner, inputs.list.data(), inputs.list.size(), made.data(), made.size(), &options,
                                       &request);
  return poprt_shim::address(request);
}
static poprt_result raw_outputs_crop(raw_outputs* outputs) { return poprt_outputs_crop(outputs); }
// raw_next_done() returns `id` after progress of the sequence.
static poprt_result raw_watch(raw_sequence* sequence, int64_t id) {
  return poprt_sequence_set_callback(sequence, poprt_go::Completions::on_progress, poprt_shim::pointer(id));
}
static int64_t raw_next_done() { return poprt_go::Completions::instance().take(); }
static poprt_result raw_wait(int64_t request) {
  return poprt_request_wait(static_cast<poprt_request*>(poprt_shim::pointer(request)), -1);
}
static bool raw_cancel(int64_t request) {
  return poprt_request_cancel(static_cast<poprt_request*>(poprt_shim::pointer(request))) != 0;
}
static void raw_request_free(int64_t request) {
  poprt_request_free(static_cast<poprt_request*>(poprt_shim::pointer(request)));
}

static int32_t raw_error_code(int64_t error) {
  return poprt_error_get_code(static_cast<poprt_error*>(poprt_shim::pointer(error)));
}
static int32_t raw_error_popef_class(int64_t error) {
  return poprt_popef_error_get_class(static_cast<poprt_error*>(poprt_shim::pointer(error)));
}
static const char* raw_error_message(int64_t error) {
  return poprt_error_message(static_cast<poprt_error*>(poprt_shim::pointer(error)));
}
static void raw_error_free(int64_t error) { poprt_error_free(static_cast<poprt_error*>(poprt_shim::pointer(error))); }
static const char* raw_text_data(int64_t text) {
  return poprt_string_data(static_cast<poprt_string*>(poprt_shim::pointer(text)));
}
static void raw_text_free(int64_t text) { poprt_string_free(static_cast<poprt_string*>(poprt_shim::pointer(text))); }
static void raw_copy(int64_t to, int64_t from, int64_t bytes) {
  std::memcpy(poprt_shim::pointer(to), poprt_shim::pointer(from), static_cast<size_t>(bytes));
}
%}
