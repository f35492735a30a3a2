// What only Python needs: memory through the buffer protocol, errors as exceptions, callbacks.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "poprt_shim.h"

namespace poprt_python {

// Exception class of each code, set by poprt.errors; owned for ever.
inline PyObject* exceptions = nullptr;

inline PyObject* exception_class(int32_t code) {
  PyObject* index = PyLong_FromLong(code);
  PyObject* found = exceptions && index ? PyDict_GetItemWithError(exceptions, index) : nullptr;
  Py_XDECREF(index);
  if (!found && !PyErr_Occurred()) found = PyExc_RuntimeError;
  return found;
}

inline void set_error(int32_t code, const char* message) {
  PyObject* type = exception_class(code);
  PyObject* text =
      PyUnicode_DecodeUTF8(message, static_cast<Py_ssize_t>(std::strlen(message)), "replace");
  if (type && text) PyErr_SetObject(type, text);
  Py_XDECREF(text);
}

// Frees `error`.
inline void raise(poprt_error* error) {
  set_error(poprt_error_get_code(error), poprt_error_message(error));
  const poprt_popef_error_class popef = poprt_popef_error_get_class(error);
  poprt_error_free(error);
  if (popef == POPRT_POPEF_NO_CLASS) return;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyObject* number = PyLong_FromLong(popef);
  if (!number || !value || PyObject_SetAttrString(value, "_popef_class", number) != 0)
    PyErr_Clear();
  Py_XDECREF(number);
  PyErr_Restore(type, value, trace);
}

// Whether elements that the buffer protocol describes by `format` are those of `dtype`. Types that
// NumPy does not have travel as unsigned integers of their size.
inline bool fits(poprt_dtype dtype, const char* format, Py_ssize_t item) {
  if (!format) format = "B";
  if (*format == '@' || *format == '=' || *format == '<') format++;
  const std::string f = format;
  switch (dtype) {
    case POPRT_DTYPE_F16: return f == "e";
    case POPRT_DTYPE_F32: return f == "f";
    case POPRT_DTYPE_F64: return f == "d";
    case POPRT_DTYPE_BF16:
    case POPRT_DTYPE_U16: return f == "H";
    case POPRT_DTYPE_S8: return f == "b";
    case POPRT_DTYPE_S16: return f == "h";
    case POPRT_DTYPE_S32: return item == 4 && (f == "i" || f == "l");
    case POPRT_DTYPE_U32: return item == 4 && (f == "I" || f == "L");
    case POPRT_DTYPE_S64: return item == 8 && (f == "l" || f == "q");
    case POPRT_DTYPE_U64: return item == 8 && (f == "L" || f == "Q");
    case POPRT_DTYPE_BOOL: return f == "?";
    case POPRT_DTYPE_C64: return f == "Zf";
    case POPRT_DTYPE_C128: return f == "Zd";
    default: return f == "B";  // 8 bits and less
  }
}

// Memory of one request: borrowed buffers, and copies of inputs that are not contiguous. Needs the
// GIL to be made, filled and destroyed.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    for (Py_buffer& v : views_) PyBuffer_Release(&v);
  }

  // Mappings of names to buffers. False with an exception set. `check_types` compares dtypes.
  bool fill(poprt_runner* runner, PyObject* in, PyObject* out, bool check_types) {
    if (!PyDict_Check(in) || !PyDict_Check(out)) {
      PyErr_SetString(PyExc_TypeError, "inputs and outputs must be dicts of name to array");
      return false;
    }
    views_.reserve(static_cast<size_t>(PyDict_GET_SIZE(in) + PyDict_GET_SIZE(out)));
    inputs.reserve(static_cast<size_t>(PyDict_GET_SIZE(in)));
    outputs.reserve(static_cast<size_t>(PyDict_GET_SIZE(out)));
    return add_all(runner, in, check_types, false) && add_all(runner, out, check_types, true);
  }

  std::vector<poprt_input> inputs;
  std::vector<poprt_output> outputs;

 private:
  bool add_all(poprt_runner* runner, PyObject* items, bool check_types, bool writable) {
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t at = 0;
    while (PyDict_Next(items, &at, &key, &value)) {
      const char* name = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : nullptr;
      if (!name) {
        if (!PyErr_Occurred())
          PyErr_SetString(PyExc_TypeError, "names of inputs and outputs must be str");
        return false;
      }
      if (!add(runner, name, value, check_types, writable)) return false;
    }
    return true;
  }

  bool add(poprt_runner* runner, const char* name, PyObject* value, bool check_types,
           bool writable) {
    size_t index = 0;
    const poprt_anchor* anchor = find(runner, name, writable, &index);
    Py_buffer view;
    const int flags = PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(value, &view, flags | PyBUF_C_CONTIGUOUS) != 0) {
      if (writable || !PyErr_ExceptionMatches(PyExc_Exception)) return false;
      PyErr_Clear();
      if (PyObject_GetBuffer(value, &view, PyBUF_FORMAT | PyBUF_STRIDES) != 0) return false;
    }
    views_.push_back(view);
    if (check_types && anchor && !raw(view) &&
        !fits(poprt_anchor_dtype(anchor), view.format, view.itemsize)) {
      set_error(POPRT_INVALID_ARGUMENT,
                (std::string(writable ? "output '" : "input '") + name +
                 "': expected elements of " + poprt_dtype_name(poprt_anchor_dtype(anchor)) +
                 ", given format '" + (view.format ? view.format : "B") + "'")
                    .c_str());
      return false;
    }
    void* data = view.buf;
    const auto bytes = static_cast<size_t>(view.len);
    if (!PyBuffer_IsContiguous(&view, 'C')) {
      copies_.emplace_back(new char[bytes + 1]);
      data = copies_.back().get();
      if (PyBuffer_ToContiguous(data, &view, view.len, 'C') != 0) return false;
      poprt_shim::copied_bytes += view.len;
    }
    if (!data) data = &nothing_;  // NumPy's empty arrays have memory, others need not
    const char* by_name = anchor ? nullptr : name;  // unknown: the library says which there are
    if (writable)
      outputs.push_back({by_name, index, data, bytes});
    else
      inputs.push_back({by_name, index, data, bytes});
    return true;
  }

  static const poprt_anchor* find(const poprt_runner* runner, const char* name, bool output,
                                  size_t* index) {
    const size_t count =
        output ? poprt_runner_output_count(runner) : poprt_runner_input_count(runner);
    for (size_t i = 0; i < count; i++) {
      const poprt_anchor* a =
          output ? poprt_runner_output(runner, i) : poprt_runner_input(runner, i);
      if (std::strcmp(poprt_anchor_name(a), name) == 0) return *index = i, a;
    }
    return nullptr;
  }

  // Plain bytes have no type to compare.
  static bool raw(const Py_buffer& view) {
    return view.obj && (PyBytes_Check(view.obj) || PyByteArray_Check(view.obj));
  }

  std::vector<Py_buffer> views_;
  std::vector<std::unique_ptr<char[]>> copies_;
  char nothing_ = 0;
};

// Threads of the library that are on their way into Python. The interpreter's end waits for those
// that have started and lets no further one in: entering a finalised interpreter ends the process.
class Door {
 public:
  bool enter() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (closed_) return false;
    inside_++;
    return true;
  }
  void leave() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--inside_ == 0) empty_.notify_all();
  }
  // Without the GIL.
  void close() {
    std::unique_lock<std::mutex> lock(mutex_);
    closed_ = true;
    empty_.wait(lock, [&] { return inside_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable empty_;
  int inside_ = 0;
  bool closed_ = false;
};

inline Door& door() {
  static auto* const d = new Door;  // never destroyed: threads outlive main()
  return *d;
}

}  // namespace poprt_python

// Arrays checked and held once, for any number of runs.
struct poprt_python_bound {
  poprt_python::Memory memory;
};

// An asynchronous run. Its memory is held until the callback, even when nobody holds the run.
struct poprt_python_run {
  poprt_request* request = nullptr;
  PyObject* callback = nullptr;  // called with None or an exception
  PyObject* owner = nullptr;     // of the runner, which lives until its requests are done
  std::shared_ptr<poprt_python_bound> bound;
  std::atomic<int> holders{2};
  std::atomic<bool> arrived{false};
  poprt_error_code code = POPRT_OK;

  void release() {
    if (holders.fetch_sub(1) != 1) return;
    poprt_request_free(request);
    delete this;
  }

  // With the GIL: gives memory back, then tells.
  void tell(PyObject* exception) {
    bound.reset();
    PyObject* result = PyObject_CallOneArg(callback, exception);
    if (!result) PyErr_WriteUnraisable(callback);
    Py_XDECREF(result);
    Py_CLEAR(callback);
    Py_CLEAR(owner);
  }

  void tell_failure() {
    poprt_error* error = poprt_request_wait(request, 0);
    PyObject* type = poprt_python::exception_class(code);
    PyObject* exception =
        type ? PyObject_CallFunction(type, "s",
                                     error ? poprt_error_message(error) : "the request failed")
             : nullptr;
    poprt_error_free(error);
    if (!exception) {
      PyErr_WriteUnraisable(callback);
      exception = Py_NewRef(Py_None);
    }
    tell(exception);
    Py_DECREF(exception);
  }

  static void on_done(poprt_error_code code, void* user_data) {
    auto* run = static_cast<poprt_python_run*>(user_data);
    run->code = code;
    // The message of a failure needs `request`, which may not be known yet: the later one tells.
    if (code != POPRT_OK && !run->arrived.exchange(true)) return;
    if (!poprt_python::door().enter()) return;  // the interpreter has ended: its memory is nobody's
    const PyGILState_STATE state = PyGILState_Ensure();
    if (code == POPRT_OK)
      run->tell(Py_None);
    else
      run->tell_failure();
    run->release();
    PyGILState_Release(state);
    poprt_python::door().leave();
  }
};

namespace poprt_python {

inline bool execute(poprt_runner* runner, const Memory& memory) {
  poprt_error* error = nullptr;
  Py_BEGIN_ALLOW_THREADS error =
      poprt_runner_execute(runner, memory.inputs.data(), memory.inputs.size(),
                           memory.outputs.data(), memory.outputs.size());
  Py_END_ALLOW_THREADS if (error) raise(error);
  return !error;
}

// Never waits. Null with an exception set.
inline poprt_python_run* submit(poprt_runner* runner, std::shared_ptr<poprt_python_bound> bound,
                                int64_t timeout_ns, PyObject* callback, PyObject* owner) {
  auto run = std::make_unique<poprt_python_run>();
  run->bound = bound;
  run->callback = Py_NewRef(callback);
  run->owner = Py_NewRef(owner);
  const Memory& memory = bound->memory;
  poprt_request_options options{};
  options.struct_size = sizeof options;
  options.timeout_ns = timeout_ns;
  options.callback = poprt_python_run::on_done;
  options.user_data = run.get();
  options.when_full = POPRT_WHEN_FULL_LINE;
  poprt_error* error = nullptr;
  poprt_request* request = nullptr;
  Py_BEGIN_ALLOW_THREADS error =
      poprt_runner_submit(runner, memory.inputs.data(), memory.inputs.size(), memory.outputs.data(),
                          memory.outputs.size(), &options, &request);
  Py_END_ALLOW_THREADS if (error) {
    Py_CLEAR(run->callback);
    Py_CLEAR(run->owner);
    raise(error);
    return nullptr;
  }
  poprt_python_run* made = run.release();
  made->request = request;
  if (made->arrived.exchange(true)) {  // failed before we were back
    made->tell_failure();
    made->release();
  }
  return made;
}

// What a callback of this thread has raised, for the caller of what called it; further calls are
// left out until it is taken.
inline thread_local PyObject* progress_error = nullptr;

// Moves the exception that is set there.
inline void keep_error() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (value && trace) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  progress_error = value;
}

// Calls the callable at `user_data` with the part that is done.
inline void on_progress(double done, const char* what, void* user_data) {
  static_cast<void>(what);
  const PyGILState_STATE state = PyGILState_Ensure();
  if (!progress_error) {
    PyObject* result = PyObject_CallFunction(static_cast<PyObject*>(user_data), "d", done);
    if (!result) keep_error();
    Py_XDECREF(result);
  }
  PyGILState_Release(state);
}

// Calls the same with what a pass did.
inline void on_pass(const char* pass, int64_t rewrites, double milliseconds, int64_t nodes_before,
                    int64_t nodes_after, void* user_data) {
  const PyGILState_STATE state = PyGILState_Ensure();
  if (!progress_error) {
    PyObject* result = PyObject_CallFunction(
        static_cast<PyObject*>(user_data), "sLdLL", pass, static_cast<long long>(rewrites),
        milliseconds, static_cast<long long>(nodes_before), static_cast<long long>(nodes_after));
    if (!result) keep_error();
    Py_XDECREF(result);
  }
  PyGILState_Release(state);
}

// Gives bytes to the `write` of the object at `user_data`.
inline int32_t on_write(const void* data, size_t size, void* user_data) {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject* result =
      progress_error
          ? nullptr
          : PyObject_CallMethod(static_cast<PyObject*>(user_data), "write", "y#",
                                static_cast<const char*>(data), static_cast<Py_ssize_t>(size));
  if (!result && !progress_error) keep_error();
  Py_XDECREF(result);
  PyGILState_Release(state);
  return result ? 0 : 1;
}

}  // namespace poprt_python
