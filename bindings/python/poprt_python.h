// Helpers for Python: memory through the buffer protocol, errors as exceptions, callbacks.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cxxabi.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "poprt_shim.h"

namespace poprt_python {

// Calls a function that takes the GIL. When the interpreter exits, CPython before 3.14 ends a
// daemon thread that takes the GIL by pthread_exit(). Its unwinding aborts the process at a `catch
// (...)`, which the library has at the borders of callbacks, and at a destructor that takes the GIL
// again, as that of SWIG does. Such a thread waits for the end of the process instead, as in
// CPython 3.14.
template <class F>
auto outlasting_exit(F&& f) {
  try {
    return f();
  } catch (const abi::__forced_unwind&) {
    for (;;) ::pause();
  }
}

// Releases the GIL until end() or the destructor.
class ReleasedGil {
 public:
  ReleasedGil() : state_(PyEval_SaveThread()) {}
  ~ReleasedGil() { end(); }
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;
  void end() noexcept {
    if (state_) outlasting_exit([&] { PyEval_RestoreThread(std::exchange(state_, nullptr)); });
  }

 private:
  PyThreadState* state_;
};

// The exception class of each code, set by poprt.errors and never freed.
inline PyObject* exceptions = nullptr;

inline PyObject* exception_class(int32_t code) {
  PyObject* index = PyLong_FromLong(code);
  PyObject* found = exceptions && index ? PyDict_GetItemWithError(exceptions, index) : nullptr;
  Py_XDECREF(index);
  if (!found && !PyErr_Occurred()) found = PyExc_RuntimeError;
  return found;
}

// Returns a text of the library for a message, a new reference or null with an exception set. The
// library's texts are UTF-8, but those of other code may not be.
inline PyObject* text_of(const char* text) {
  return PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "replace");
}

// Like text_of(), but utf8() returns the bytes of the name unchanged.
inline PyObject* name_of(const char* name) {
  return PyUnicode_DecodeUTF8(name, static_cast<Py_ssize_t>(std::strlen(name)), "surrogateescape");
}

inline void set_error(int32_t code, const char* given) {
  // Options are in backticks with their names in C. One of them has another name in Python.
  std::string message = given;
  constexpr char kShapes[] = "`input_shapes`";
  if (const size_t at = message.find(kShapes); at != std::string::npos)
    message.replace(at, sizeof kShapes - 1, "`input_shape`");
  PyObject* type = exception_class(code);
  PyObject* text = text_of(message.c_str());
  if (type && text) PyErr_SetObject(type, text);
  Py_XDECREF(text);
}

// Sets the error of a text that C would end at its first zero character.
inline void refuse_zero(const char* argument) {
  set_error(POPRT_INVALID_ARGUMENT,
            (std::string("argument '") + argument + "' contains the character \\0").c_str());
}

// Sets the exception for `error` and frees `error`. The exception of a PopEF function also gets the
// class of the error, as `_popef_class`.
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

// Converts an object without a buffer, or with integers of another width than the anchor's, to one
// with a buffer. Called with the object, "input", "bound input" or "output", the anchor's name and
// dtype, and the error of borrowing the buffer or None. Raises an error for objects that it cannot
// convert. Set by poprt._convert.
inline PyObject* converter = nullptr;

// Returns the type of the elements with buffer format `format`, for memory of type `wanted`. Types
// that NumPy lacks are passed as unsigned integers of their size. Returns UNDEFINED for unknown
// formats.
inline poprt_dtype dtype_of(const char* format, Py_ssize_t item, poprt_dtype wanted) {
  if (!format) format = "B";
  if (*format == '@' || *format == '=' || *format == '<') format++;
  if (format[0] == 'Z' && format[1] && !format[2])
    return format[1] == 'f'   ? POPRT_DTYPE_C64
           : format[1] == 'd' ? POPRT_DTYPE_C128
                              : POPRT_DTYPE_UNDEFINED;
  if (!format[0] || format[1]) return POPRT_DTYPE_UNDEFINED;
  switch (*format) {
    case 'e': return POPRT_DTYPE_F16;
    case 'f': return POPRT_DTYPE_F32;
    case 'd': return POPRT_DTYPE_F64;
    case '?': return POPRT_DTYPE_BOOL;
    case 'b': return POPRT_DTYPE_S8;
    case 'h': return POPRT_DTYPE_S16;
    case 'H': return wanted == POPRT_DTYPE_BF16 ? wanted : POPRT_DTYPE_U16;
    case 'i':
    case 'l':
    case 'q': return item == 4 ? POPRT_DTYPE_S32 : POPRT_DTYPE_S64;
    case 'I':
    case 'L':
    case 'Q': return item == 4 ? POPRT_DTYPE_U32 : POPRT_DTYPE_U64;
    case 'B': {
      const bool exotic = poprt_dtype_bits(wanted) <= 8 && wanted != POPRT_DTYPE_S8 &&
                          wanted != POPRT_DTYPE_BOOL && wanted != POPRT_DTYPE_UNDEFINED;
      return exotic ? wanted : POPRT_DTYPE_U8;
    }
    default: return POPRT_DTYPE_UNDEFINED;
  }
}

// Returns the bytes of a name, which may be invalid UTF-8: a name from the library then contains
// surrogates. `kept` owns the bytes. Returns null with an exception set, also if the text contains
// a zero character; `argument` is its name in the message.
inline const char* utf8(PyObject* text, std::list<std::string>& kept, const char* argument) {
  Py_ssize_t size = 0;
  const char* plain = PyUnicode_AsUTF8AndSize(text, &size);
  if (!plain) {
    if (!PyErr_ExceptionMatches(PyExc_UnicodeError)) return nullptr;
    PyErr_Clear();
    PyObject* bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape");
    if (!bytes) return nullptr;
    plain = kept.emplace_back(PyBytes_AsString(bytes), static_cast<size_t>(PyBytes_Size(bytes)))
                .c_str();
    size = static_cast<Py_ssize_t>(kept.back().size());
    Py_DECREF(bytes);
  }
  if (std::strlen(plain) == static_cast<size_t>(size)) return plain;
  refuse_zero(argument);
  return nullptr;
}

// Reads a sequence of integers. Returns false with an exception set.
inline bool read_integers(PyObject* from, std::vector<int64_t>& to) {
  PyObject* items = PySequence_Fast(from, "expected a sequence of integers");
  if (!items) return false;
  try {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); i++)
      to.push_back(PyLong_AsLongLong(PySequence_Fast_GET_ITEM(items, i)));
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  }
  Py_DECREF(items);
  return !PyErr_Occurred();
}

// The memory of one request: borrowed buffers, and copies of inputs that are not contiguous.
// Creating, filling and destroying it needs the GIL.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    for (Py_buffer& v : views_) PyBuffer_Release(&v);
  }

  // Fills it from mappings of names to buffers. Returns false with an exception set. With
  // `check_types`, the library compares dtypes and shapes.
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

  std::vector<poprt_tensor> inputs, outputs;
  bool bound = false;  // whether several runs read the arrays in place, so that none may be copied

 private:
  static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));

  bool add_all(poprt_runner* runner, PyObject* items, bool check_types, bool writable) {
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t at = 0;
    while (PyDict_Next(items, &at, &key, &value)) {
      if (!PyUnicode_Check(key)) {
        PyErr_Format(PyExc_TypeError, "names of inputs and outputs must be str, given %R", key);
        return false;
      }
      const char* name = utf8(key, names_, writable ? "name of an output" : "name of an input");
      if (!name || !add(runner, name, value, check_types, writable)) return false;
    }
    return true;
  }

  // Returns whether an array can be bound; if not, an exception is set. Each run reads the current
  // values of a bound array, so a contiguous copy would be out of date.
  bool bindable(const Py_buffer& view, const char* name, bool writable) const {
    if (!bound || writable || PyBuffer_IsContiguous(&view, 'C')) return true;
    set_error(POPRT_INVALID_ARGUMENT,
              (std::string("input '") + name +
               "': the array is not C-contiguous; the memory of a bound array is read directly")
                  .c_str());
    return false;
  }

  // Appends the object's buffer to views_.
  bool borrow(PyObject* value, bool writable) {
    Py_buffer& view = views_.emplace_back();
    const int flags = PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(value, &view, flags | PyBUF_C_CONTIGUOUS) == 0) return true;
    if (!writable && PyErr_ExceptionMatches(PyExc_Exception) && PyObject_CheckBuffer(value)) {
      PyErr_Clear();
      if (PyObject_GetBuffer(value, &view, PyBUF_FORMAT | PyBUF_STRIDES) == 0) return true;
    }
    views_.pop_back();
    return false;
  }

  // Converts an object without a buffer, for which borrow() has set an exception, and appends the
  // buffer of the result to views_.
  bool convert(PyObject* value, const char* name, poprt_dtype dtype, bool writable) {
    if (!converter || !PyErr_ExceptionMatches(PyExc_Exception)) return false;
    PyObject *type = nullptr, *error = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &error, &trace);
    const bool ok = call_converter(value, name, dtype, writable, error ? error : Py_None);
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(trace);
    return ok;
  }

  bool call_converter(PyObject* value, const char* name, poprt_dtype dtype, bool writable,
                      PyObject* error) {
    const char* direction = writable ? "output" : bound ? "bound input" : "input";
    PyObject* text = name_of(name);
    if (!text) return false;
    PyObject* made = PyObject_CallFunction(converter, "OsNiO", value, direction, text,
                                           static_cast<int>(dtype), error);
    const bool ok = made && borrow(made, writable);
    Py_XDECREF(made);
    return ok;
  }

  // Returns whether one type is s32 and the other s64. A converted model may have s32 where the
  // original has s64, and callers have arrays of either.
  static bool of_other_width(poprt_dtype given, poprt_dtype wanted) {
    return (given == POPRT_DTYPE_S64 && wanted == POPRT_DTYPE_S32) ||
           (given == POPRT_DTYPE_S32 && wanted == POPRT_DTYPE_S64);
  }

  bool add(poprt_runner* runner, const char* name, PyObject* value, bool check_types,
           bool writable) {
    size_t index = 0;
    const poprt_anchor* anchor = find(runner, name, writable, &index);
    const poprt_dtype wanted = poprt_anchor_dtype(anchor);
    // The library reports an error with the existing names, unless it is input "index" of a fused
    // model, which is not listed.
    if (!anchor && check_types) {
      poprt_tensor unknown{name, 0, &nothing_, 0, POPRT_DTYPE_UNDEFINED, 0, nullptr, 0};
      if (!borrow(value, writable)) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) return false;
        PyErr_Clear();
      } else if (PyBuffer_IsContiguous(&views_.back(), 'C') && views_.back().buf) {
        unknown.data = views_.back().buf;
        unknown.bytes = static_cast<size_t>(views_.back().len);
      }
      (writable ? outputs : inputs).push_back(unknown);
      return true;
    }
    if (!borrow(value, writable) && !convert(value, name, wanted, writable)) return false;
    if (check_types && anchor && !writable && !bound && converter && !raw(views_.back()) &&
        of_other_width(dtype_of(views_.back().format, views_.back().itemsize, wanted), wanted)) {
      PyBuffer_Release(&views_.back());
      views_.pop_back();
      if (!call_converter(value, name, wanted, writable, Py_None)) return false;
      poprt_shim::copied_bytes += views_.back().len;
    }
    Py_buffer& view = views_.back();
    if (!bindable(view, name, writable)) return false;
    poprt_tensor tensor{anchor ? nullptr : name, index, view.buf, static_cast<size_t>(view.len),
                        POPRT_DTYPE_UNDEFINED,   0,     nullptr,  0};
    if (check_types && anchor && poprt_dtype_bits(wanted) >= 8 && !flat(view, anchor)) {
      tensor.dtype = dtype_of(view.format, view.itemsize, wanted);
      tensor.shape = reinterpret_cast<const int64_t*>(view.shape);
      tensor.rank = static_cast<size_t>(view.ndim);
    }
    if (check_types && anchor && !raw(view) &&
        dtype_of(view.format, view.itemsize, wanted) == POPRT_DTYPE_UNDEFINED) {
      set_error(
          POPRT_INVALID_ARGUMENT,
          (std::string(writable ? "output '" : "input '") + name + "': expected elements of " +
           poprt_dtype_name(wanted) + ", given format '" + (view.format ? view.format : "B") + "'")
              .c_str());
      return false;
    }
    if (!PyBuffer_IsContiguous(&view, 'C')) {
      copies_.emplace_back(new char[tensor.bytes + 1]);
      tensor.data = copies_.back().get();
      if (PyBuffer_ToContiguous(tensor.data, &view, view.len, 'C') != 0) return false;
      poprt_shim::copied_bytes += view.len;
    }
    if (!tensor.data) tensor.data = &nothing_;  // NumPy's empty arrays have memory, others may not
    (writable ? outputs : inputs).push_back(tensor);
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

  // Returns whether there is no shape to compare: for bytes, and for an array.array, which has one
  // dimension, with elements of the anchor's type.
  static bool flat(const Py_buffer& view, const poprt_anchor* anchor) {
    if (raw(view)) return true;
    if (view.ndim != 1 || poprt_anchor_rank(anchor) == 1 ||
        PyObject_HasAttrString(view.obj, "shape"))
      return false;
    const poprt_dtype wanted = poprt_anchor_dtype(anchor);
    return dtype_of(view.format, view.itemsize, wanted) == wanted;
  }

  std::vector<Py_buffer> views_;
  std::vector<std::unique_ptr<char[]>> copies_;
  std::list<std::string> names_;
  char nothing_ = 0;
};

// Counts threads of the library that enter Python. The exit of the interpreter waits for those that
// have entered and admits no others, because entering a finalised interpreter ends the process.
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
  // Called without the GIL.
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

// Arrays that are checked and referenced once, for any number of runs.
struct poprt_python_bound {
  poprt_python::Memory memory;
};

struct poprt_python_run;

// Completed runs for an event loop: the completing thread never waits for the interpreter, and the
// loop is woken once for all runs that have ended. The loop's object and runs refer to it.
class poprt_python_ended {
 public:
  poprt_python_ended() : wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~poprt_python_ended() {
    if (wake_ >= 0) close(wake_);
  }
  poprt_python_ended(const poprt_python_ended&) = delete;
  poprt_python_ended& operator=(const poprt_python_ended&) = delete;

  // The file is readable while there are completed runs; -1 if it could not be created.
  int wake() const { return wake_; }

  // Returns false if the loop is closed. Allocates nothing, because a thread of the library calls
  // it and cannot report an error.
  inline bool add(poprt_python_run* run);
  // take() and end() finish the completed runs in the order of their completion. end() is for a
  // loop that is closed.
  inline void take();
  inline void end();

 private:
  static inline void finish(poprt_python_run* first, bool listened);

  const int wake_;
  std::mutex mutex_;
  poprt_python_run *first_ = nullptr,
                   *last_ = nullptr;  // a list of runs, by poprt_python_run::next
  bool closed_ = false;
};

// The object of an event loop in Python, whose completed runs are in `ended`.
struct poprt_python_loop {
  std::shared_ptr<poprt_python_ended> ended = std::make_shared<poprt_python_ended>();
};

// An asynchronous run. Its memory is kept until the callback, even if the run is not referenced.
struct poprt_python_run {
  poprt_request* request = nullptr;
  PyObject* callback = nullptr;  // called with None or an exception
  PyObject* owner = nullptr;     // the runner's object, which is kept until its requests are done
  std::shared_ptr<poprt_python_bound> bound;
  std::shared_ptr<poprt_python_ended>
      ended;  // receives the completed run; null: the callback is called directly
  std::atomic<int> holders{2};
  std::atomic<bool> arrived{false};
  poprt_error_code code = POPRT_OK;
  poprt_python_run* next = nullptr;  // of completed runs

  void release() {
    if (holders.fetch_sub(1) != 1) return;
    poprt_request_free(request);
    delete this;
  }

  // With the GIL: releases the memory, then calls the callback.
  void notify(PyObject* exception) {
    bound.reset();
    PyObject* result = callback ? PyObject_CallOneArg(callback, exception) : nullptr;
    if (callback && !result) PyErr_WriteUnraisable(callback);
    Py_XDECREF(result);
    Py_CLEAR(callback);
    Py_CLEAR(owner);
  }

  // Returns the exception that is set, as an object.
  static PyObject* taken_error() {
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value ? value : Py_NewRef(PyExc_RuntimeError);
  }

  void notify_failure() {
    poprt_error* error = poprt_request_wait(request, 0);
    PyObject* type = poprt_python::exception_class(code);
    PyObject* text =
        poprt_python::text_of(error ? poprt_error_message(error) : "the request failed");
    PyObject* exception = type && text ? PyObject_CallOneArg(type, text) : nullptr;
    Py_XDECREF(text);
    poprt_error_free(error);
    // None would report success, so the callback gets the error of making the exception.
    if (!exception) exception = taken_error();
    notify(exception);
    Py_DECREF(exception);
  }

  // With the GIL, after the submission has returned: completes the work of on_done().
  void finish(bool listened) {
    if (!listened) Py_CLEAR(callback);  // its loop is closed
    if (code == POPRT_OK || !listened)
      notify(Py_None);
    else
      notify_failure();
    release();
  }

  static void on_done(poprt_error_code code, void* user_data) {
    auto* run = static_cast<poprt_python_run*>(user_data);
    run->code = code;
    if (run->ended) {
      if (run->ended->add(run)) return;
      if (!poprt_python::door().enter()) return;
      const PyGILState_STATE state = PyGILState_Ensure();
      run->finish(false);
      PyGILState_Release(state);
      poprt_python::door().leave();
      return;
    }
    // The message of a failure needs `request`, which submit() may not have set yet. The later one
    // of this function and submit() reports the failure.
    if (code != POPRT_OK && !run->arrived.exchange(true)) return;
    if (!poprt_python::door().enter())
      return;  // the interpreter has exited: its memory is not released
    const PyGILState_STATE state = PyGILState_Ensure();
    if (code == POPRT_OK)
      run->notify(Py_None);
    else
      run->notify_failure();
    run->release();
    PyGILState_Release(state);
    poprt_python::door().leave();
  }
};

inline bool poprt_python_ended::add(poprt_python_run* run) {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  const uint64_t one = 1;
  // This cannot fail because the counter is far below its limit.
  if (!first_) static_cast<void>(!write(wake_, &one, sizeof one));
  (first_ ? last_->next : first_) = run;
  last_ = run;
  return true;
}

inline void poprt_python_ended::take() {
  uint64_t count = 0;
  static_cast<void>(!read(wake_, &count, sizeof count));
  poprt_python_run* first = nullptr;
  {
    const std::lock_guard lock(mutex_);
    std::swap(first, first_);
  }
  finish(first, true);
}

inline void poprt_python_ended::end() {
  poprt_python_run* first = nullptr;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    std::swap(first, first_);
  }
  finish(first, false);
}

inline void poprt_python_ended::finish(poprt_python_run* first, bool listened) {
  while (poprt_python_run* const run = first) {
    first = run->next;  // finish() may free it
    run->finish(listened);
  }
}

namespace poprt_python {

// Runs with options and waits until the run is done.
inline poprt_error* execute_with(poprt_runner* runner, const Memory& memory,
                                 raw_request_options options) {
  options.at_once = 1;
  poprt_request* request = nullptr;
  poprt_error* error =
      poprt_runner_submit_tensors(runner, memory.inputs.data(), memory.inputs.size(),
                                  memory.outputs.data(), memory.outputs.size(), &options, &request);
  if (!error) error = poprt_request_wait(request, -1);
  poprt_request_free(request);
  return error;
}

// Null `options` means the defaults.
inline bool execute(poprt_runner* runner, const Memory& memory,
                    const raw_request_options* options = nullptr) {
  poprt_error* error = nullptr;
  Py_BEGIN_ALLOW_THREADS error =
      options ? execute_with(runner, memory, *options)
              : poprt_runner_execute_tensors(runner, memory.inputs.data(), memory.inputs.size(),
                                             memory.outputs.data(), memory.outputs.size());
  Py_END_ALLOW_THREADS if (error) raise(error);
  return !error;
}

// Returns the outputs of a run with these inputs as a list of (position, shape), or null with an
// exception set.
inline PyObject* output_shapes(poprt_runner* runner, const Memory& memory) {
  poprt_outputs* made = nullptr;
  if (poprt_error* error =
          poprt_outputs_create(runner, memory.inputs.data(), memory.inputs.size(), &made)) {
    raise(error);
    return nullptr;
  }
  PyObject* list = PyList_New(0);
  for (size_t i = 0; list && i < poprt_outputs_count(made); i++) {
    const poprt_tensor& t = *poprt_outputs_at(made, i);
    PyObject* shape = PyTuple_New(static_cast<Py_ssize_t>(t.rank));
    for (size_t d = 0; shape && d < t.rank; d++)
      PyTuple_SET_ITEM(shape, static_cast<Py_ssize_t>(d), PyLong_FromLongLong(t.shape[d]));
    PyObject* position = PyLong_FromSize_t(t.index);
    PyObject* entry = shape && position ? PyTuple_New(2) : nullptr;
    if (entry) {  // the tuple takes over both references
      PyTuple_SET_ITEM(entry, 0, position);
      PyTuple_SET_ITEM(entry, 1, shape);
    } else {
      Py_XDECREF(position);
      Py_XDECREF(shape);
    }
    if (!entry || PyList_Append(list, entry) != 0) Py_CLEAR(list);
    Py_XDECREF(entry);
  }
  poprt_outputs_free(made);
  return list;
}

inline std::string type_text(poprt_dtype dtype, const int64_t* shape, size_t rank) {
  std::string text = poprt_dtype_name(dtype);
  for (size_t i = 0; i < rank; i++) text += (i ? "," : "[") + std::to_string(shape[i]);
  return text + (rank ? "]" : "[]");
}

// Returns whether the output `given` may be used for `made`: if the shapes are equal, or if the
// sizes are equal and the shape is one number followed by the shape of the anchor, with or without
// the first dimension of the anchor.
inline bool same_batches(const poprt_tensor& given, const poprt_tensor& made,
                         const poprt_anchor* anchor) {
  const auto equal = [](const int64_t* a, size_t rank, const int64_t* b, size_t other) {
    return rank == other && std::equal(a, a + rank, b);
  };
  if (equal(given.shape, given.rank, made.shape, made.rank)) return true;
  const size_t rank = poprt_anchor_rank(anchor);
  const int64_t* const batch = poprt_anchor_shape(anchor);
  if (given.bytes != made.bytes || given.rank == 0) return false;
  return equal(given.shape + 1, given.rank - 1, batch, rank) ||
         (rank && equal(given.shape + 1, given.rank - 1, batch + 1, rank - 1));
}

// Makes the checks of the library before a run with this memory. `check_shapes` includes shapes of
// outputs. Returns false with an exception set.
inline bool check_bound(poprt_runner* runner, const Memory& memory, bool check_shapes) {
  poprt_outputs* owned = nullptr;
  if (poprt_error* error =
          poprt_outputs_create(runner, memory.inputs.data(), memory.inputs.size(), &owned)) {
    raise(error);
    return false;
  }
  const std::unique_ptr<poprt_outputs, void (*)(poprt_outputs*)> made(owned, poprt_outputs_free);
  const auto refuse = [](poprt_error_code code, const std::string& why) {
    set_error(code, why.c_str());
    return false;
  };
  std::vector<bool> given(poprt_runner_output_count(runner));
  for (const poprt_tensor& t : memory.outputs) {
    const poprt_tensor* expected = nullptr;
    std::string names;
    for (size_t i = 0; i < poprt_outputs_count(owned); i++) {
      const poprt_tensor* o = poprt_outputs_at(owned, i);
      names += (i ? ", '" : "'") + std::string(o->name) + "'";
      if (!t.name && o->index == t.index) expected = o;
    }
    if (!expected) {
      const char* name = t.name ? t.name : poprt_anchor_name(poprt_runner_output(runner, t.index));
      return refuse(POPRT_NOT_FOUND,
                    "there is no output '" + std::string(name) + "'; outputs are: " + names);
    }
    given[t.index] = true;
    const std::string what = "output '" + std::string(expected->name) + "': expected " +
                             type_text(expected->dtype, expected->shape, expected->rank) +
                             ", given ";
    const bool typed = t.dtype != POPRT_DTYPE_UNDEFINED;
    if (typed &&
        (t.dtype != expected->dtype ||
         (check_shapes && !same_batches(t, *expected, poprt_runner_output(runner, t.index)))))
      return refuse(POPRT_INVALID_ARGUMENT, what + type_text(t.dtype, t.shape, t.rank));
    if (check_shapes && t.bytes != expected->bytes)
      return refuse(POPRT_INVALID_ARGUMENT, what + std::to_string(t.bytes) + " bytes");
  }
  for (size_t i = 0; i < poprt_outputs_count(owned); i++) {
    const poprt_tensor* o = poprt_outputs_at(owned, i);
    if (!given[o->index])
      return refuse(POPRT_INVALID_ARGUMENT, "output '" + std::string(o->name) + "' is missing");
  }
  return true;
}

// Submits a run without waiting. Returns null with an exception set. With `ended`, the loop calls
// the callback when it processes completed runs, which happens after this call has returned.
inline poprt_python_run* submit(poprt_runner* runner, std::shared_ptr<poprt_python_bound> bound,
                                const raw_request_options* given, PyObject* callback,
                                PyObject* owner,
                                std::shared_ptr<poprt_python_ended> ended = nullptr) {
  auto run = std::make_unique<poprt_python_run>();
  run->bound = bound;
  run->ended = std::move(ended);
  run->callback = Py_NewRef(callback);
  run->owner = Py_NewRef(owner);
  const Memory& memory = bound->memory;
  raw_request_options options = given ? *given : raw_request_options();
  options.callback = poprt_python_run::on_done;
  options.user_data = run.get();
  poprt_error* error = nullptr;
  poprt_request* request = nullptr;
  Py_BEGIN_ALLOW_THREADS error =
      poprt_runner_submit_tensors(runner, memory.inputs.data(), memory.inputs.size(),
                                  memory.outputs.data(), memory.outputs.size(), &options, &request);
  Py_END_ALLOW_THREADS if (error) {
    Py_CLEAR(run->callback);
    Py_CLEAR(run->owner);
    raise(error);
    return nullptr;
  }
  poprt_python_run* made = run.release();
  made->request = request;
  if (!made->ended && made->arrived.exchange(true)) {  // failed before the submission returned
    made->notify_failure();
    made->release();
  }
  return made;
}

// The exception of a callback of this thread, for the caller of the library. Further callbacks are
// skipped until it is taken.
inline thread_local PyObject* progress_error = nullptr;

// Moves the present exception to progress_error.
inline void keep_error() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (value && trace) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  progress_error = value;
}

// Calls a function with the GIL on a thread that called the library.
template <class F>
auto with_gil(F&& f) {
  return outlasting_exit([&] {
    const PyGILState_STATE state = PyGILState_Ensure();
    const auto result = f();
    PyGILState_Release(state);
    return result;
  });
}

// Calls the callable at `user_data` with the completed fraction.
inline void on_progress(double done, const char* what, void* user_data) {
  static_cast<void>(what);
  with_gil([&] {
    if (progress_error) return false;
    PyObject* result = PyObject_CallFunction(static_cast<PyObject*>(user_data), "d", done);
    if (!result) keep_error();
    Py_XDECREF(result);
    return true;
  });
}

// Calls the same callable with the report of a pass.
inline void on_pass(const char* pass, int64_t rewrites, double milliseconds, int64_t nodes_before,
                    int64_t nodes_after, void* user_data) {
  with_gil([&] {
    if (progress_error) return false;
    PyObject* name = name_of(pass);  // a name from a plug-in may not be UTF-8
    PyObject* result = name
                           ? PyObject_CallFunction(static_cast<PyObject*>(user_data), "OLdLL", name,
                                                   static_cast<long long>(rewrites), milliseconds,
                                                   static_cast<long long>(nodes_before),
                                                   static_cast<long long>(nodes_after))
                           : nullptr;
    Py_XDECREF(name);
    if (!result) keep_error();
    Py_XDECREF(result);
    return true;
  });
}

// Ends a compilation whose callback has raised, or after Ctrl-C. Checks signals only occasionally,
// because other threads may hold the GIL for milliseconds.
inline int32_t on_stop(void* user_data) {
  static_cast<void>(user_data);
  using clock = std::chrono::steady_clock;
  constexpr auto kBetween = std::chrono::milliseconds(50);
  static thread_local clock::time_point last;
  if (progress_error) return 1;
  const clock::time_point now = clock::now();
  if (now - last < kBetween) return 0;
  with_gil([] {
    if (PyErr_CheckSignals() != 0) keep_error();
    return true;
  });
  last = clock::now();
  return progress_error ? 1 : 0;
}

// Passes bytes to the `write` of the object at `user_data`.
inline int32_t on_write(const void* data, size_t size, void* user_data) {
  return with_gil([&] {
    PyObject* result =
        progress_error
            ? nullptr
            : PyObject_CallMethod(static_cast<PyObject*>(user_data), "write", "y#",
                                  static_cast<const char*>(data), static_cast<Py_ssize_t>(size));
    if (!result && !progress_error) keep_error();
    Py_XDECREF(result);
    return result ? 0 : 1;
  });
}

}  // namespace poprt_python
