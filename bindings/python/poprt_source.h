// PopEF data that is read from a Python object by position.
#pragma once

#include <Python.h>

#include "poprt_session.h"

namespace poprt_python {

// Calls read(offset, memory), which does not raise and returns whether it has filled the memory.
inline int32_t on_source_read(uint64_t offset, void* data, size_t bytes, void* user_data) {
  const Entered entered;
  if (!entered) return 1;
  auto* read = static_cast<PyObject*>(user_data);
  PyObject* view = PyMemoryView_FromMemory(static_cast<char*>(data), static_cast<Py_ssize_t>(bytes),
                                           PyBUF_WRITE);
  const bool filled = view && truth(PyObject_CallFunction(
                                  read, "KO", static_cast<unsigned long long>(offset), view));
  if (!view) PyErr_WriteUnraisable(read);
  Py_XDECREF(view);
  return filled ? 0 : 1;
}

inline void on_source_release(void* user_data) {
  const Entered entered;
  if (entered) Py_DECREF(static_cast<PyObject*>(user_data));
}

}  // namespace poprt_python
