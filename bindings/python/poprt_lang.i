// Mappings of the common declarations to Python: exceptions, str, buffers. The GIL is released around every call except
// those that take Python objects, which release it themselves.
%feature("python:annotations", "c");

%{
#include "poprt_runner_options.h"
#include "poprt_session.h"
#include "poprt_source.h"

#undef SWIG_PYTHON_THREAD_BEGIN_ALLOW
#undef SWIG_PYTHON_THREAD_END_ALLOW
#define SWIG_PYTHON_THREAD_BEGIN_ALLOW poprt_python::ReleasedGil _swig_thread_allow
#define SWIG_PYTHON_THREAD_END_ALLOW _swig_thread_allow.end()
%}

// The C ABI throws nothing, but the code around it allocates memory.
%exception {
  try {
    $action
  } catch (const std::bad_alloc&) {
    poprt_python::set_error(POPRT_RESOURCE_EXHAUSTED, "out of memory");
    SWIG_fail;
  } catch (const std::exception& e) {
    poprt_python::set_error(POPRT_INTERNAL, e.what());
    SWIG_fail;
  }
}
%typemap(out) poprt_result {
  if ($1) {
    poprt_python::raise($1);
    SWIG_fail;
  }
  $result = Py_NewRef(Py_None);
}
%typemap(in, numinputs=0) poprt_result* error (poprt_error* error = nullptr) "$1 = &error;"
%typemap(argout) poprt_result* error {
  if (!*$1 && PyErr_Occurred()) {
    Py_CLEAR($result);
    SWIG_fail;
  }
  if (*$1) {
    Py_CLEAR($result);
    poprt_python::raise(*$1);
    SWIG_fail;
  }
}
%typemap(out) poprt_text {
  $result = PyUnicode_DecodeUTF8(poprt_string_data($1), (Py_ssize_t)poprt_string_size($1), "replace");
  poprt_string_free($1);
}
// A C string would end at a zero character.
%typemap(in, fragment="SWIG_AsCharPtrAndSize") const char* (int res, char* text = nullptr, size_t size = 0, int alloc = 0) {
  res = SWIG_AsCharPtrAndSize($input, &text, &size, &alloc);
  if (!SWIG_IsOK(res)) {
    %argument_fail(res, "$type", $symname, $argnum);
  }
  if (text && std::strlen(text) + 1 != size) {
    poprt_python::refuse_zero("$1_name");
    SWIG_fail;
  }
  $1 = text;
}
%typemap(freearg) const char* "if (alloc$argnum == SWIG_NEWOBJ) delete[] text$argnum;"
%typemap(in) poprt_values values (std::vector<int64_t> numbers) {
  if (!poprt_python::read_integers($input, numbers)) SWIG_fail;
  $1 = numbers.data();
}
%typemap(out) poprt_python_run*, poprt_python_bound* {
  if (!$1) SWIG_fail;
  $result = SWIG_NewPointerObj($1, $descriptor, SWIG_POINTER_OWN);
}

%rename(RawBound) poprt_python_bound;
%nodefaultctor poprt_python_bound;
%nodefaultdtor poprt_python_bound;
%nothread poprt_python_bound::~poprt_python_bound;
struct poprt_python_bound {};
%extend poprt_python_bound {
  ~poprt_python_bound() { delete $self; }
}

%rename(RawAsyncRun) poprt_python_run;
%nodefaultctor poprt_python_run;
%nodefaultdtor poprt_python_run;
%nothread poprt_python_run::~poprt_python_run;
struct poprt_python_run {};
%extend poprt_python_run {
  ~poprt_python_run() { $self->release(); }
  poprt_result wait(int64_t timeout_ns) { return poprt_request_wait($self->request, timeout_ns); }
  bool done() { return poprt_request_done($self->request) != 0; }
  bool cancel() { return poprt_request_cancel($self->request) != 0; }
}

%rename(RawLoop) poprt_python_loop;
%nodefaultctor poprt_python_loop;
%nodefaultdtor poprt_python_loop;
%nothread poprt_python_loop::poprt_python_loop;
%nothread poprt_python_loop::~poprt_python_loop;
%nothread poprt_python_loop::take;
struct poprt_python_loop {};
%extend poprt_python_loop {
  poprt_python_loop() { return new poprt_python_loop; }
  // The loop is closed. The callbacks of completed runs, and of runs that complete later, are not called.
  ~poprt_python_loop() {
    $self->ended->end();
    delete $self;
  }
  int32_t wake() { return $self->ended->wake(); }
  // Calls the callbacks of completed runs.
  void take() { $self->ended->take(); }
}

// Daemon threads free these while the interpreter exits: releasing the GIL would end them in C++ code.
%nothread raw_executable::~raw_executable;
%nothread raw_estimate::~raw_estimate;
%nothread raw_queue_manager::~raw_queue_manager;
%nothread raw_queue::~raw_queue;
%nothread raw_make_runner;
%newobject raw_make_runner;
%nothread raw_set_exceptions;
%nothread raw_set_converter;
%nothread raw_output_shapes;
%nothread raw_bind;
%nothread raw_execute;
%nothread raw_execute_bound;
%nothread raw_execute_async;
%nothread raw_submit_on_loop;
%nothread raw_address;
%nothread raw_bytes;
%nothread raw_object_address;
%nothread raw_take_progress_error;
%nothread raw_write_fn;
%nothread raw_set_session_dispatch;
%nothread raw_enqueue;
%nothread raw_source_read_fn;
%nothread raw_source_release_fn;
%nothread raw_source;
%inline %{
// `classes` is a dict from code to exception class.
static void raw_set_exceptions(PyObject* classes) { poprt_python::exceptions = Py_NewRef(classes); }

// See poprt_python.h.
static void raw_set_converter(PyObject* convert) { poprt_python::converter = Py_NewRef(convert); }

// Returns the shapes of the outputs of a run with these inputs.
static PyObject* raw_output_shapes(raw_runner* runner, PyObject* inputs, bool check_types) {
  poprt_python::Memory memory;
  const std::unique_ptr<PyObject, void (*)(PyObject*)> none(PyDict_New(), Py_DecRef);
  const bool ok = none && memory.fill(runner, inputs, none.get(), check_types);
  return ok ? poprt_python::output_shapes(runner, memory) : nullptr;
}

// With `check_types`, all checks of a run are made; with `check_shapes`, shapes of outputs are also checked.
static poprt_python_bound* raw_bind(raw_runner* runner, PyObject* inputs, PyObject* outputs, bool check_types,
                                    bool check_shapes) {
  auto bound = std::make_unique<poprt_python_bound>();
  bound->memory.bound = true;
  if (!bound->memory.fill(runner, inputs, outputs, check_types)) return nullptr;
  if (check_types && !poprt_python::check_bound(runner, bound->memory, check_shapes)) return nullptr;
  return bound.release();
}

// Null `options` mean the defaults.
static PyObject* raw_execute(raw_runner* runner, PyObject* inputs, PyObject* outputs, bool check_types,
                             const raw_request_options* options) {
  poprt_python::Memory memory;
  const bool ok = memory.fill(runner, inputs, outputs, check_types) && poprt_python::execute(runner, memory, options);
  return ok ? Py_NewRef(Py_None) : nullptr;
}

static PyObject* raw_execute_bound(raw_runner* runner, const poprt_python_bound* bound) {
  return poprt_python::execute(runner, bound->memory) ? Py_NewRef(Py_None) : nullptr;
}

// Calls `callback` once, with None or an exception, on the thread that completes the request. `owner` is the
// object that frees the runner. Null `options` mean the defaults.
static poprt_python_run* raw_execute_async(raw_runner* runner, PyObject* inputs, PyObject* outputs, bool check_types,
                                           const raw_request_options* options, PyObject* callback, PyObject* owner) {
  auto bound = std::make_shared<poprt_python_bound>();
  if (!bound->memory.fill(runner, inputs, outputs, check_types)) return nullptr;
  return poprt_python::submit(runner, std::move(bound), options, callback, owner);
}

// The same for an event loop, which calls `callback` when it processes completed runs. Must be called on the loop's
// thread.
static poprt_python_run* raw_submit_on_loop(raw_runner* runner, PyObject* inputs, PyObject* outputs, bool check_types,
                                            const raw_request_options* options, poprt_python_loop& loop,
                                            PyObject* callback, PyObject* owner) {
  auto bound = std::make_shared<poprt_python_bound>();
  if (!bound->memory.fill(runner, inputs, outputs, check_types)) return nullptr;
  return poprt_python::submit(runner, std::move(bound), options, callback, owner, loop.ended);
}

// Returns the address and the size in bytes of an object's contiguous memory; the caller keeps the object.
static PyObject* raw_address(PyObject* object) {
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) != 0) return nullptr;
  PyObject* pair = Py_BuildValue("(Ln)", static_cast<long long>(poprt_shim::address(view.buf)), view.len);
  PyBuffer_Release(&view);
  return pair;
}

static PyObject* raw_bytes(int64_t address, int64_t bytes) {
  return PyBytes_FromStringAndSize(static_cast<const char*>(poprt_shim::pointer(address)), bytes);
}

// For set_callbacks: a poprt_progress_fn and a poprt_pass_fn that call a Python callable, whose address is their user
// data, with one argument "done" or with five arguments.
static int64_t raw_progress_fn() { return poprt_shim::address(reinterpret_cast<void*>(poprt_python::on_progress)); }
static int64_t raw_pass_fn() { return poprt_shim::address(reinterpret_cast<void*>(poprt_python::on_pass)); }
// For set_stop.
static int64_t raw_stop_fn() { return poprt_shim::address(reinterpret_cast<void*>(poprt_python::on_stop)); }
static int64_t raw_object_address(PyObject* object) { return poprt_shim::address(object); }
// For create_stream: a poprt_write_fn that calls the `write` of the object whose address is its user data.
static int64_t raw_write_fn() { return poprt_shim::address(reinterpret_cast<void*>(poprt_python::on_write)); }
// Returns and forgets the exception of a progress callback or a stream of this thread, or returns None.
static PyObject* raw_take_progress_error() {
  PyObject* error = poprt_python::progress_error;
  poprt_python::progress_error = nullptr;
  return error ? error : Py_NewRef(Py_None);
}

// Creates a runner of that kind ("model", "fusion", "pack", "light", "host_concat"). `options` and `extra` are dicts by
// the names of the C fields.
static raw_runner* raw_make_runner(const char* kind, const raw_executable* executable, PyObject* options,
                                   PyObject* extra, poprt_result* error) {
  return poprt_python::make_runner(kind, executable, options, extra, error);
}
static poprt_result raw_light_reload(raw_runner* runner) { return poprt_light_runner_reload(runner); }
static poprt_result raw_light_set_input_anchor(raw_runner* runner, const char* name, int64_t address, int64_t bytes) {
  return poprt_light_runner_set_input_anchor(runner, name, poprt_shim::pointer(address), static_cast<size_t>(bytes));
}
static poprt_result raw_light_update_weights(raw_runner* runner) { return poprt_light_runner_update_weights(runner); }
static int64_t raw_light_model_input_count(const raw_runner* runner) {
  return static_cast<int64_t>(poprt_light_runner_model_input_count(runner));
}
static const raw_anchor* raw_light_model_input(const raw_runner* runner, int64_t index) {
  return poprt_light_runner_model_input(runner, static_cast<size_t>(index));
}
static bool raw_light_model_input_has_data(const raw_runner* runner, int64_t index) {
  return poprt_light_runner_model_input_has_data(runner, static_cast<size_t>(index)) != 0;
}

// See poprt_session.h.
static void raw_set_session_dispatch(PyObject* dispatch) { poprt_python::session_dispatch = Py_NewRef(dispatch); }
static int64_t raw_session_fn(int32_t which) { return poprt_python::session_fn(which); }
// Calls `callback` once, with None if the array was consumed or filled, or with a message if it was discarded.
static PyObject* raw_enqueue(raw_queue* queue, bool output, PyObject* array, PyObject* callback,
                             poprt_result* error) {
  return poprt_python::enqueue(queue, output, array, callback, error);
}

// For parse_source: the functions, and a new reference as user data, which the second function releases.
static int64_t raw_source_read_fn() { return poprt_python::address_of(poprt_python::on_source_read); }
static int64_t raw_source_release_fn() { return poprt_python::address_of(poprt_python::on_source_release); }
static int64_t raw_source(PyObject* read) { return poprt_shim::address(Py_NewRef(read)); }

// Afterwards, no thread of the library enters Python.
static void raw_close_door() { poprt_python::door().close(); }
%}
