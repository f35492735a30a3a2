// Creates runners of all kinds from Python dicts.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "poprt_python.h"

namespace poprt_python {

// Reads values of a dict by C field names. After a failure, an exception is set and later calls
// have no effect.
class Fields {
 public:
  explicit Fields(PyObject* dict) : dict_(dict) {}
  bool ok() const { return ok_; }

  template <class T>
  void integer(const char* name, T* to) {
    PyObject* value = find(name);
    if (!value) return;
    const long long number = PyLong_AsLongLong(value);
    if (number == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      PyErr_Format(PyExc_TypeError, "%s: expected a whole number of 64 bits, found %R", name,
                   value);
      ok_ = false;
      return;
    }
    *to = static_cast<T>(number);
    if (static_cast<long long>(*to) != number) {
      PyErr_Format(PyExc_OverflowError, "%s is out of range: %lld", name, number);
      ok_ = false;
    }
  }

  // Returns null if the value is missing or None.
  const char* text(const char* name) {
    PyObject* value = find(name);
    return value && value != Py_None ? text_of(value, name) : nullptr;
  }

  std::vector<const char*>& texts(const char* name) {
    auto& list = lists_.emplace_back();
    each(name, [&](PyObject* item) { list.push_back(text_of(item, name)); });
    return list;
  }

  template <class Use>
  void each(const char* name, Use use) {
    PyObject* value = find(name);
    if (!value) return;
    PyObject* items = PySequence_Fast(value, "expected a sequence");
    ok_ = items != nullptr;
    for (Py_ssize_t i = 0; ok_ && i < PySequence_Fast_GET_SIZE(items); i++)
      use(PySequence_Fast_GET_ITEM(items, i));
    Py_XDECREF(items);
  }

  // `name` is that of the option in messages.
  const char* text_of(PyObject* value, const char* name) {
    const char* bytes = utf8(value, strings_, name);
    if (!bytes) {
      ok_ = false;
      return nullptr;
    }
    return strings_.emplace_back(bytes).c_str();
  }

 private:
  PyObject* find(const char* name) { return ok_ ? PyDict_GetItemString(dict_, name) : nullptr; }

  PyObject* dict_;
  bool ok_ = true;
  std::list<std::string> strings_;
  std::list<std::vector<const char*>> lists_;
};

// poprt_runner_options with the memory of its pointers.
struct RunnerOptions {
  poprt_runner_options options{};
  std::vector<poprt_replica_device> devices;
  std::vector<poprt_input> frozen, flush_in;
  std::vector<poprt_output> flush_out;

  // `f` owns the bytes of strings.
  void read(Fields& f) {
    poprt_runner_options& o = options;
    o.struct_size = sizeof o;
    f.integer("threads", &o.threads);
    f.integer("profile", &o.profile);
    f.integer("queue_depth", &o.queue_depth);
    f.integer("telemetry", &o.telemetry);
    f.integer("timeout_ns", &o.timeout_ns);
    f.integer("not_thread_safe", &o.not_thread_safe);
    f.integer("no_validate_io_params", &o.no_validate_io_params);
    f.integer("use_batching_dim", &o.use_batching_dim);
    f.integer("batching_dim", &o.batching_dim);
    f.integer("ring_buffer_size_multiplier", &o.ring_buffer_size_multiplier);
    f.integer("auto_reset", &o.auto_reset);
    f.integer("flush_on_waiting_outputs", &o.flush_on_waiting_outputs);
    f.integer("is_batch_size_timeout_enabled", &o.is_batch_size_timeout_enabled);
    f.integer("batch_size_timeout_ns", &o.batch_size_timeout_ns);
    f.integer("data_parallel_timeout_ns", &o.data_parallel_timeout_ns);
    f.integer("request_tracepoints_buffer_size", &o.request_tracepoints_buffer_size);
    f.integer("replication_factor", &o.replication_factor);
    f.integer("overlap_io", &o.overlap_io);
    f.integer("max_shapes", &o.max_shapes);
    f.integer("max_shape_memory", &o.max_shape_memory);
    f.integer("batches_per_step", &o.batches_per_step);
    o.faults = f.text("faults");
    o.numerics = f.text("numerics");
    o.shared_devices = f.text("shared_devices");
    o.load = f.text("load");
    o.execution_precision = f.text("execution_precision");
    f.integer("verify", &o.verify);
    f.integer("device_wait_timeout_ns", &o.device_wait_timeout_ns);
    f.integer("device_wait_sleep_ns", &o.device_wait_sleep_ns);
    // Pairs of replica and address of a device, which the caller owns.
    f.each("replica_devices", [&](PyObject* pair) {
      long long replica = 0, device = 0;
      if (PyArg_ParseTuple(pair, "LL", &replica, &device))
        devices.push_back({replica, static_cast<poprt_device*>(poprt_shim::pointer(device))});
    });
    o.replica_devices = devices.data();
    o.replica_device_count = devices.size();
    memory(f, "frozen_inputs", frozen);
    memory(f, "flush_inputs", flush_in);
    memory(f, "flush_outputs", flush_out);
    o.frozen_inputs = frozen.data();
    o.frozen_input_count = frozen.size();
    o.flush_inputs = flush_in.data();
    o.flush_input_count = flush_in.size();
    o.flush_outputs = flush_out.data();
    o.flush_output_count = flush_out.size();
  }

 private:
  // Triples of name, address and bytes; the caller owns the memory.
  template <class Bound>
  static void memory(Fields& f, const char* name, std::vector<Bound>& to) {
    f.each(name, [&](PyObject* item) {
      PyObject* anchor = nullptr;
      long long data = 0, bytes = 0;
      if (PyArg_ParseTuple(item, "OLL", &anchor, &data, &bytes))
        to.push_back(
            {f.text_of(anchor, name), 0, poprt_shim::pointer(data), static_cast<size_t>(bytes)});
    });
  }
};

// Returns null with *error or an exception set.
inline poprt_runner* make_runner(const char* kind, const poprt_executable* executable,
                                 PyObject* options, PyObject* extra, poprt_error** error) {
  Fields f(options), x(extra);
  RunnerOptions base;
  base.read(f);
  const std::string wanted = kind;
  poprt_runner* made = nullptr;
  if (wanted == "pack") {
    poprt_pack_runner_options o{};
    o.struct_size = sizeof o;
    o.runner = &base.options;
    x.integer("timeout_microseconds", &o.timeout_microseconds);
    x.integer("max_valid_num", &o.max_valid_num);
    o.dynamic_input_name = x.text("dynamic_input_name");
    o.unpack_info_input_name = x.text("unpack_info_input_name");
    o.mask_name = x.text("mask_name");
    const auto& group = x.texts("dynamic_group");
    o.dynamic_group = group.data();
    o.dynamic_group_count = group.size();
    x.integer("algorithm", &o.algorithm);
    x.integer("disable_data_across_rows", &o.disable_data_across_rows);
    x.integer("compile_batch_size", &o.compile_batch_size);
    x.integer("enable_padding_remove", &o.enable_padding_remove);
    x.integer("disable_prefetch_datastreams", &o.disable_prefetch_datastreams);
    x.integer("delimiter_num", &o.delimiter_num);
    if (!f.ok() || !x.ok() || PyErr_Occurred()) return nullptr;
    Py_BEGIN_ALLOW_THREADS* error = poprt_pack_runner_create(executable, &o, &made);
    Py_END_ALLOW_THREADS
  } else if (wanted == "host_concat") {
    std::vector<poprt_host_concat> concats;
    std::list<std::vector<int64_t>> shapes;
    std::list<std::vector<uint64_t>> sizes;
    x.each("host_concat", [&](PyObject* item) {
      Fields c(item);
      poprt_host_concat h{};
      h.tensor_name = x.text_of(PyDict_GetItemString(item, "tensor_name"), "tensor_name");
      auto& shape = shapes.emplace_back();
      c.each("shape", [&](PyObject* d) { shape.push_back(PyLong_AsLongLong(d)); });
      if (!shape.empty()) h.shape = shape.data();
      h.rank = shape.size();
      c.integer("data_size_bytes", &h.data_size_bytes);
      auto& names = x.texts("");  // a list with the lifetime of x
      c.each("input_tensor_names",
             [&](PyObject* n) { names.push_back(x.text_of(n, "input_tensor_names")); });
      h.input_tensor_names = names.data();
      h.input_tensor_count = names.size();
      auto& parts = sizes.emplace_back();
      c.each("sizes", [&](PyObject* size) { parts.push_back(PyLong_AsUnsignedLongLong(size)); });
      if (x.ok() && !parts.empty() && parts.size() != names.size())  // one is read for each input
        PyErr_Format(PyExc_ValueError, "'%s' has %zu inputs, given %zu sizes", h.tensor_name,
                     names.size(), parts.size());
      if (!parts.empty()) h.sizes = parts.data();
      concats.push_back(h);
    });
    poprt_host_concat_runner_options o{};
    o.struct_size = sizeof o;
    o.runner = &base.options;
    o.host_concat = concats.empty() ? nullptr : concats.data();
    o.host_concat_count = concats.size();
    if (!f.ok() || !x.ok() || PyErr_Occurred()) return nullptr;
    Py_BEGIN_ALLOW_THREADS* error = poprt_host_concat_runner_create(executable, &o, &made);
    Py_END_ALLOW_THREADS
  } else {
    const auto create = wanted == "light"    ? poprt_light_runner_create
                        : wanted == "fusion" ? poprt_fusion_runner_create
                                             : poprt_runner_create;
    if (!f.ok() || PyErr_Occurred()) return nullptr;
    Py_BEGIN_ALLOW_THREADS* error = create(executable, &base.options, &made);
    Py_END_ALLOW_THREADS
  }
  return made;
}

}  // namespace poprt_python
