#include "runner_options.h"

#include <limits>

#include "compile_cache.h"
#include "compiler_loader.h"
#include "device/execution_precision.h"
#include "device/memory_limit.h"
#include "faithful_device.h"
#include "option_lists.h"
#include "runtime/session/popef_file.h"
#include "runtime/session/precision_cache.h"
#include "struct_size.h"

namespace poprt::capi {
namespace {

// Converts a time: 0 means `otherwise`, a negative value `never`.
std::chrono::nanoseconds duration(int64_t given, std::chrono::nanoseconds otherwise,
                                  std::chrono::nanoseconds never) {
  return given == 0 ? otherwise : given < 0 ? never : std::chrono::nanoseconds(given);
}

template <class View, class List, class Item>
void add_views(List& list, const Item* items, size_t count, const char* what) {
  if (count) required(items, what);
  for (size_t i = 0; i < count; i++) {
    const std::string name = &required(items[i].name, "name");
    if (!list.emplace(name, View{items[i].data, items[i].bytes}).second)
      fail(ErrorCode::invalid_argument, "`{}`: '{}' is given twice", what, name);
  }
}

}  // namespace

runtime::RunnerConfig read_runner_options(const poprt_runner_options* options,
                                          std::shared_ptr<const runtime::Model>& model) {
  const auto o = read_options(options, "poprt_runner_options");
  const auto not_negative = [](int64_t value, const char* what) {
    if (value < 0)
      fail(ErrorCode::invalid_argument, "`{}` is {}, must not be negative", what, value);
    return value;
  };
  using runtime::RunnerConfig;
  RunnerConfig c;
  c.session.load = {o.threads, o.profile != 0};
  if (o.device) c.session.device = o.device->device;
  c.session.telemetry = o.telemetry != 0;
  not_negative(o.max_shapes, "max_shapes");
  c.queue_depth = static_cast<size_t>(not_negative(o.queue_depth, "queue_depth"));
  c.timeout = duration(o.timeout_ns, c.timeout, std::chrono::nanoseconds(0));
  c.dispatch_when_idle = o.timeout_ns == 0;
  c.thread_safe = !o.not_thread_safe;
  c.validate_io_params = !o.no_validate_io_params;
  if (o.use_batching_dim) c.batching_dim = o.batching_dim;
  if (!o.use_batching_dim && o.batching_dim)
    fail(ErrorCode::invalid_argument,
         "`batching_dim` is {}, which has no effect without `use_batching_dim`", o.batching_dim);
  if (o.use_batching_dim && o.batching_dim == std::numeric_limits<uint32_t>::max())
    fail(ErrorCode::invalid_argument, "`batching_dim` is {}", o.batching_dim);
  if (o.ring_buffer_size_multiplier)
    c.ring_buffer_size_multiplier = static_cast<size_t>(
        not_negative(o.ring_buffer_size_multiplier, "ring_buffer_size_multiplier"));
  c.auto_reset = o.auto_reset != 0;
  c.flush_on_waiting_outputs = o.flush_on_waiting_outputs != 0;
  c.is_batch_size_timeout_enabled = o.is_batch_size_timeout_enabled != 0;
  not_negative(o.batch_size_timeout_ns, "batch_size_timeout_ns");
  not_negative(o.data_parallel_timeout_ns, "data_parallel_timeout_ns");
  not_negative(o.device_wait_sleep_ns, "device_wait_sleep_ns");
  c.batch_size_timeout =
      duration(o.batch_size_timeout_ns, RunnerConfig::kNever, RunnerConfig::kNever);
  c.data_parallel_timeout =
      duration(o.data_parallel_timeout_ns, RunnerConfig::kNever, RunnerConfig::kNever);
  // The default of `timeout` would be shorter than most timeouts of batches.
  if (o.timeout_ns == 0 && c.is_batch_size_timeout_enabled && o.batch_size_timeout_ns != 0)
    c.timeout = std::chrono::nanoseconds(0);
  if (o.request_tracepoints_buffer_size)
    c.request_tracepoints_buffer_size =
        static_cast<size_t>(std::max<int64_t>(o.request_tracepoints_buffer_size, 0));
  if (o.replication_factor) c.replication_factor = o.replication_factor;
  if (o.shared_devices) c.shared_devices = o.shared_devices;
  c.overlap_io = o.overlap_io != 0;
  c.batches_per_step = o.batches_per_step;
  if (o.replica_device_count) required(o.replica_devices, "replica_devices");
  for (size_t i = 0; i < o.replica_device_count; i++) {
    const int64_t id = o.replica_devices[i].replica;
    if (id < 0 || id > std::numeric_limits<int>::max())
      fail(ErrorCode::not_found, "there is no replica {}", id);
    c.replica_id_to_device[static_cast<int>(id)] =
        required(o.replica_devices[i].device, "device").device;
  }
  using runtime::ConstTensorMemoryView, runtime::TensorMemoryView;
  add_views<ConstTensorMemoryView>(c.frozen_inputs, o.frozen_inputs, o.frozen_input_count,
                                   "frozen_inputs");
  add_views<ConstTensorMemoryView>(c.flush_by_name.inputs, o.flush_inputs, o.flush_input_count,
                                   "flush_inputs");
  add_views<TensorMemoryView>(c.flush_by_name.outputs, o.flush_outputs, o.flush_output_count,
                              "flush_outputs");
  c.device_wait_timeout =
      o.device_wait_timeout_ns == POPRT_DO_NOT_WAIT
          ? RunnerConfig::kDoNotWait
          : duration(o.device_wait_timeout_ns, c.device_wait_timeout, RunnerConfig::kNever);
  c.device_wait_sleep =
      duration(o.device_wait_sleep_ns, c.device_wait_sleep, std::chrono::nanoseconds(0));
  const std::string precision = o.execution_precision ? o.execution_precision : "";
  if (!precision.empty()) static_cast<void>(device::execution_precision_named(precision));
  if (o.faults) c.faults = std::make_shared<runtime::FaultInjector>(o.faults);
  if (const Numerics numerics = numerics_named(o.numerics ? o.numerics : ""); numerics.faithful) {
    const char* const other = o.device                   ? "device"
                              : o.replica_device_count   ? "replica_devices"
                              : o.replication_factor > 1 ? "replication_factor"
                              : o.profile                ? "profile"
                              : !precision.empty()       ? "execution_precision"
                                                         : nullptr;
    if (other)
      fail(ErrorCode::invalid_argument,
           "`numerics` {} and `{}` exclude each other: an interpreter computes the model, one run "
           "after "
           "the other, without a shared device",
           o.numerics, other);
    c.session.device = faithful_device(*model, numerics);
  }
  // These read the whole file, so they come after the checks of all other options.
  const bool copy = copies_file(o.load);
  if (o.verify) runtime::verify_model(*model);
  if (copy) model = runtime::copied_model(model);
  // A copy depends on no file, so its weights stay in memory.
  if (!precision.empty())
    model = runtime::with_execution_precision(
        model, precision, {copy ? std::nullopt : runtime::default_cache_folder(), library_build()});
  return c;
}

runtime::ShapeRunnerConfig read_shape_runner_options(const poprt_runner_options* options,
                                                     std::shared_ptr<const runtime::Model>& model) {
  const auto o = read_options(options, "poprt_runner_options");
  runtime::ShapeRunnerConfig config;
  config.runner = read_runner_options(options, model);
  static_assert(runtime::ShapeRunnerConfig::kDefaultShapes == POPRT_DEFAULT_MAX_SHAPES);
  if (o.max_shapes) config.max_shapes = static_cast<size_t>(o.max_shapes);
  config.max_memory = o.max_shape_memory < 0 ? device::memory_limit() / 2
                                             : static_cast<uint64_t>(o.max_shape_memory);
  return config;
}

}  // namespace poprt::capi
