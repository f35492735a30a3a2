// Sessions in Python: callbacks call one Python function with the number of the target, and
// elements of queues refer to their arrays.
#pragma once

#include <Python.h>

#include <memory>

#include "poprt_python.h"
#include "session_shim.h"

namespace poprt_python {

// model_runtime's dispatcher, called with the kind of call, the number of its target, and
// arguments. It does not raise and is never freed.
inline PyObject* session_dispatch = nullptr;

// The numbers of model_runtime/_callbacks.py.
enum SessionFn { kAccepts, kTimeout, kPrefetch, kFetch, kComplete, kInvalidate, kInterrupt };

// Acquires the GIL on a thread that called the library, unless the interpreter has exited. Keeps an
// exception that the thread is raising. Handlers may wait, so the thread leaves the door while it
// calls them: the exit handler of sessions ends them before the door is closed.
class Entered {
 public:
  Entered() : in_(door().enter()) {
    if (!in_) return;
    state_ = PyGILState_Ensure();
    door().leave();
    PyErr_Fetch(&type_, &value_, &trace_);
  }
  ~Entered() {
    if (!in_) return;
    PyErr_Restore(type_, value_, trace_);
    PyGILState_Release(state_);
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  explicit operator bool() const { return in_; }

 private:
  const bool in_;
  PyGILState_STATE state_{};
  PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

inline long long number(void* user_data) { return poprt_shim::address(user_data); }

// Takes ownership of `result` of a call that must not raise.
inline bool truth(PyObject* result) {
  const int answer = result ? PyObject_IsTrue(result) : -1;
  if (answer < 0) PyErr_WriteUnraisable(session_dispatch);
  Py_XDECREF(result);
  return answer == 1;
}

template <SessionFn which>
int32_t transfer(void* data, size_t bytes, void* user_data) {
  const Entered entered;
  if (!entered) return 1;
  static char nothing = 0;
  PyObject* view = PyMemoryView_FromMemory(data ? static_cast<char*>(data) : &nothing,
                                           static_cast<Py_ssize_t>(bytes), PyBUF_WRITE);
  if (!view) {
    PyErr_WriteUnraisable(session_dispatch);
    return 1;
  }
  const bool made = truth(PyObject_CallFunction(session_dispatch, "iLO", static_cast<int>(which),
                                                number(user_data), view));
  Py_DECREF(view);
  return made ? 0 : 1;
}

template <SessionFn which>
void event(void* user_data) {
  const Entered entered;
  if (entered)
    truth(
        PyObject_CallFunction(session_dispatch, "iL", static_cast<int>(which), number(user_data)));
}

inline int32_t accepts(const char* name, int32_t is_output, const uint32_t* programs,
                       size_t program_count, void* user_data) {
  const Entered entered;
  if (!entered) return 0;
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(program_count));
  for (size_t i = 0; list && i < program_count; i++) {
    PyObject* index = PyLong_FromUnsignedLong(programs[i]);
    if (!index)
      Py_CLEAR(list);
    else
      PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), index);
  }
  PyObject* text = name_of(name);
  PyObject* result = nullptr;
  if (list && text)
    result = PyObject_CallFunction(session_dispatch, "iLOiO", static_cast<int>(kAccepts),
                                   number(user_data), text, static_cast<int>(is_output != 0), list);
  Py_XDECREF(text);
  Py_XDECREF(list);
  return truth(result);
}

inline void timeout(const char* queue, void* user_data) {
  const Entered entered;
  if (!entered) return;
  PyObject* name = name_of(queue);
  truth(name ? PyObject_CallFunction(session_dispatch, "iLO", static_cast<int>(kTimeout),
                                     number(user_data), name)
             : nullptr);
  Py_XDECREF(name);
}

template <class Function>
int64_t address_of(Function* function) {
  return poprt_shim::address(reinterpret_cast<const void*>(function));
}

inline int64_t session_fn(int32_t which) {
  switch (which) {
    case kAccepts: return address_of(accepts);
    case kTimeout: return address_of(timeout);
    case kPrefetch: return address_of(transfer<kPrefetch>);
    case kFetch: return address_of(transfer<kFetch>);
    case kComplete: return address_of(event<kComplete>);
    case kInvalidate: return address_of(event<kInvalidate>);
    case kInterrupt: return address_of(event<kInterrupt>);
    default: return 0;
  }
}

// An array in a queue, until its memory is free.
struct QueuedArray {
  Py_buffer view{};
  PyObject* callback = nullptr;  // called with None or a message

  // Called with the GIL.
  ~QueuedArray() {
    PyBuffer_Release(&view);
    Py_XDECREF(callback);
  }

  static void done(int32_t code, const char* message, void* self) {
    const Entered entered;
    if (!entered) return;  // the interpreter has exited: its memory is not released
    std::unique_ptr<QueuedArray> me(static_cast<QueuedArray*>(self));
    PyObject* callback = Py_NewRef(me->callback);
    me.reset();
    PyObject* text = code ? text_of(message) : Py_NewRef(Py_None);
    PyObject* result = text ? PyObject_CallOneArg(callback, text) : nullptr;
    Py_XDECREF(text);
    if (!result) PyErr_WriteUnraisable(callback);
    Py_XDECREF(result);
    Py_DECREF(callback);
  }
};

// Returns null with *error or an exception set.
inline PyObject* enqueue(raw_queue* queue, bool output, PyObject* array, PyObject* callback,
                         poprt_error** error) {
  auto element = std::make_unique<QueuedArray>();
  const int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (output ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(array, &element->view, flags) != 0) return nullptr;
  element->callback = Py_NewRef(callback);
  const Py_buffer& view = element->view;
  {
    const poprt_shim::Queues::Use use(*queue->queues);
    const poprt_anchor* anchor = use.get() ? poprt_queue_anchor(queue->queue) : nullptr;
    const bool raw = PyBytes_Check(array) || PyByteArray_Check(array);
    const poprt_dtype wanted = poprt_anchor_dtype(anchor);
    if (anchor && !raw && poprt_dtype_bits(wanted) >= 8 &&
        dtype_of(view.format, view.itemsize, wanted) != wanted) {
      set_error(POPRT_INVALID_ARGUMENT,
                (std::string("queue '") + poprt_anchor_name(anchor) + "': expected elements of " +
                 poprt_dtype_name(poprt_anchor_dtype(anchor)) + ", given format '" +
                 (view.format ? view.format : "B") + "'")
                    .c_str());
      return nullptr;
    }
  }
  const int64_t address = poprt_shim::address(view.buf), bytes = view.len;
  QueuedArray* const given = element.get();
  Py_BEGIN_ALLOW_THREADS;
  *error = queue->enqueue(output, address, bytes, address_of(QueuedArray::done),
                          poprt_shim::address(given));
  Py_END_ALLOW_THREADS;
  if (*error) return nullptr;
  static_cast<void>(element.release());  // the callback owns it and may have run already
  return Py_NewRef(Py_None);
}

}  // namespace poprt_python
