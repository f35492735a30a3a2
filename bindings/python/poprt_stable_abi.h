#ifndef POPRT_STABLE_ABI_H
#define POPRT_STABLE_ABI_H
// Declarations that the wrapper needs beyond the stable ABI of CPython 3.9; included before all
// other code (-include).

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef Py_LIMITED_API

// The buffer protocol is part of the stable ABI since 3.11, with these functions and this
// structure. They are older and equal in 3.9 and 3.10 (PEP 3118), whose headers hide them here.
#if Py_LIMITED_API < 0x030b0000
typedef struct {
  void* buf;
  PyObject* obj;
  Py_ssize_t len;
  Py_ssize_t itemsize;
  int readonly;
  int ndim;
  char* format;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  Py_ssize_t* suboffsets;
  void* internal;
} Py_buffer;
extern "C" PyAPI_FUNC(int) PyObject_CheckBuffer(PyObject*);
extern "C" PyAPI_FUNC(int) PyObject_GetBuffer(PyObject*, Py_buffer*, int);
extern "C" PyAPI_FUNC(void) PyBuffer_Release(Py_buffer*);
extern "C" PyAPI_FUNC(int) PyBuffer_IsContiguous(const Py_buffer*, char);
extern "C" PyAPI_FUNC(int) PyBuffer_ToContiguous(void*, const Py_buffer*, Py_ssize_t, char);
enum {
  PyBUF_SIMPLE = 0,
  PyBUF_WRITABLE = 0x0001,
  PyBUF_FORMAT = 0x0004,
  PyBUF_ND = 0x0008,
  PyBUF_STRIDES = 0x0010 | PyBUF_ND,
  PyBUF_C_CONTIGUOUS = 0x0020 | PyBUF_STRIDES,
  PyBUF_READ = 0x100,
  PyBUF_WRITE = 0x200
};
#endif

// This function is in 3.9's libraries, but part of the stable ABI only since 3.10.
#if Py_LIMITED_API < 0x030a0000
extern "C" PyAPI_FUNC(const char*) PyUnicode_AsUTF8AndSize(PyObject*, Py_ssize_t*);
static inline PyObject* poprt_new_reference(PyObject* object) {
  Py_INCREF(object);
  return object;
}
#undef Py_NewRef
#define Py_NewRef poprt_new_reference
#endif
#define PyUnicode_AsUTF8(text) PyUnicode_AsUTF8AndSize((text), nullptr)
#define PyObject_CallOneArg(function, argument) \
  PyObject_CallFunctionObjArgs((function), (argument), nullptr)

// Functions in place of macros that access fields of objects.
#define PyTuple_GET_SIZE PyTuple_Size
#define PyTuple_GET_ITEM PyTuple_GetItem
#define PyTuple_SET_ITEM(tuple, i, item) (void)PyTuple_SetItem((tuple), (i), (item))
#define PyList_GET_SIZE PyList_Size
#define PyList_GET_ITEM PyList_GetItem
#define PyList_SET_ITEM(list, i, item) (void)PyList_SetItem((list), (i), (item))
#define PyDict_GET_SIZE PyDict_Size
#undef PySequence_Fast_GET_SIZE
#undef PySequence_Fast_GET_ITEM
#define PySequence_Fast_GET_SIZE(items) \
  (PyList_Check(items) ? PyList_Size(items) : PyTuple_Size(items))
#define PySequence_Fast_GET_ITEM(items, i) \
  (PyList_Check(items) ? PyList_GetItem(items, i) : PyTuple_GetItem(items, i))
#define PyCFunction_GET_FUNCTION PyCFunction_GetFunction
#define PyCFunction_GET_SELF PyCFunction_GetSelf
#define PyCFunction_GET_FLAGS PyCFunction_GetFlags

#endif  // Py_LIMITED_API

// Frees an object of a type that was created at run time, which has a reference to its type.
static inline void poprt_delete(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_Free(object);
  Py_DECREF((PyObject*)type);
}

// The type's name for a message; valid until the next call on this thread.
static inline const char* poprt_type_name(PyObject* object) {
  static thread_local char name[64];
  name[0] = 0;
  PyObject* text = PyObject_GetAttrString((PyObject*)Py_TYPE(object), "__name__");
  PyObject* utf8 = text ? PyUnicode_AsUTF8String(text) : nullptr;
  if (utf8) PyOS_snprintf(name, sizeof name, "%s", PyBytes_AsString(utf8));
  if (!utf8) PyErr_Clear();
  Py_XDECREF(utf8);
  Py_XDECREF(text);
  return name;
}

#endif  // POPRT_STABLE_ABI_H
