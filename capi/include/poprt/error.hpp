// Errors of the C++ layer, and the functions by which the other headers throw them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>

#include "poprt/api.h"
#include "poprt/error.h"

namespace poprt {
inline namespace v1 {

enum class ErrorCode : int32_t {
  ok = POPRT_OK,
  cancelled = POPRT_CANCELLED,
  unknown = POPRT_UNKNOWN,
  invalid_argument = POPRT_INVALID_ARGUMENT,
  deadline_exceeded = POPRT_DEADLINE_EXCEEDED,
  not_found = POPRT_NOT_FOUND,
  already_exists = POPRT_ALREADY_EXISTS,
  permission_denied = POPRT_PERMISSION_DENIED,
  resource_exhausted = POPRT_RESOURCE_EXHAUSTED,
  failed_precondition = POPRT_FAILED_PRECONDITION,
  aborted = POPRT_ABORTED,
  out_of_range = POPRT_OUT_OF_RANGE,
  unimplemented = POPRT_UNIMPLEMENTED,
  internal = POPRT_INTERNAL,
  unavailable = POPRT_UNAVAILABLE,
  data_loss = POPRT_DATA_LOSS,
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

namespace detail {

struct OptionName {
  const char* library;  // in messages of the library, in backticks
  const char* spelled;  // in C++
};

// <options:names> made from capi/option_fields.toml by tests/lint/option_fields.py --write
inline constexpr OptionName kOptionNames[] = {
    {"after_pass", "afterPass"},
    {"allow_links", "allowLinks"},
    {"at_once", "atOnce"},
    {"auto_reset", "autoReset"},
    {"batch_axis", "batchAxis"},
    {"batch_size", "batchSize"},
    {"batch_size_timeout", "batchSizeTimeoutNS"},
    {"batch_size_timeout_ns", "batchSizeTimeoutNS"},
    {"batching_dim", "batchingDim"},
    {"cache_path", "cachePath"},
    {"callback", "executeAsync"},
    {"check_package_hash", "checkPackageHash"},
    {"compile_batch_size", "compileBatchSize"},
    {"constant_weights", "constantWeights"},
    {"convert_version", "convertVersion"},
    {"data_parallel_timeout", "dataParallelTimeoutNS"},
    {"data_parallel_timeout_ns", "dataParallelTimeoutNS"},
    {"deferred", "policy"},
    {"device", "device"},
    {"device_wait_config", "deviceWaitConfig"},
    {"device_wait_sleep", "deviceWaitConfig"},
    {"device_wait_sleep_ns", "deviceWaitConfig"},
    {"device_wait_timeout", "deviceWaitConfig"},
    {"device_wait_timeout_ns", "deviceWaitConfig"},
    {"dynamic_group", "dynamicGroup"},
    {"dynamic_input_name", "dynamicInputName"},
    {"embed_source", "embedSource"},
    {"enable_engine_caching", "enableEngineCaching"},
    {"exclusive", "exclusive"},
    {"faults", "faults"},
    {"flush_by_name", "flushByName"},
    {"flush_inputs", "flushByName"},
    {"flush_on_waiting_outputs", "flushOnWaitingOutputs"},
    {"flush_outputs", "flushByName"},
    {"frozen_inputs", "frozenInputs"},
    {"input_lengths", "inputLength"},
    {"input_shape", "inputShape"},
    {"input_shapes", "inputShape"},
    {"is_batch_size_timeout_enabled", "isBatchSizeTimeoutEnabled"},
    {"load", "load"},
    {"max_padding", "maxPadding"},
    {"max_shape_memory", "maxShapeMemory"},
    {"max_shapes", "maxShapes"},
    {"max_tensor_size", "maxTensorSize"},
    {"max_valid_num", "maxValidNum"},
    {"no_validate_io_params", "validateIOParams"},
    {"no_verify", "verify"},
    {"not_thread_safe", "threadSafe"},
    {"opaque_blobs", "opaqueBlobs"},
    {"options", "options"},
    {"outputs", "outputs"},
    {"overlap_io", "overlapIO"},
    {"passes", "passes"},
    {"policy", "policy"},
    {"precision", "precision"},
    {"predicate", "predicate"},
    {"profile", "profile"},
    {"progress", "progress"},
    {"queue_depth", "queueDepth"},
    {"replica_devices", "replicaIdToDevice"},
    {"replication_factor", "replicationFactor"},
    {"request_tracepoints_buffer_size", "requestTracepointsBufferSize"},
    {"rewrite_limit", "rewriteLimit"},
    {"ring_buffer_size_multiplier", "ringBufferSizeMultiplier"},
    {"runner_type", "runnerType"},
    {"shape_sets", "shapeSets"},
    {"shapes", "shapes"},
    {"shared_devices", "sharedDevices"},
    {"skip_passes", "skipPasses"},
    {"stop", "progress"},
    {"stop_after", "stopAfter"},
    {"strict", "strict"},
    {"telemetry", "telemetry"},
    {"threads", "threads"},
    {"timeout", "timeoutNS"},
    {"timeout_ns", "timeoutNS"},
    {"use_batching_dim", "batchingDim"},
    {"use_replica", "replica"},
    {"variable_weights", "constantWeights"},
    {"verify", "verify"},
    {"wait_config", "waitConfig"},
    {"wait_sleep_ns", "waitConfig"},
    {"wait_strategy", "waitConfig"},
    {"wait_timeout_ns", "waitConfig"},
    {"when_full", "whenFull"},
    {"winograd", "winograd"},
};
// </options:names>

// Replaces the library's names of options by those of C++: `batching_dim` by batchingDim. An option
// that only exists by name keeps it.
inline std::string spelled(const std::string& message) {
  std::string result;
  for (std::size_t at = 0; at < message.size();) {
    const std::size_t end = message[at] == '`' ? message.find('`', at + 1) : std::string::npos;
    const auto* name =
        end == std::string::npos
            ? std::end(kOptionNames)
            : std::find_if(std::begin(kOptionNames), std::end(kOptionNames),
                           [&](const OptionName& option) {
                             return message.compare(at + 1, end - at - 1, option.library) == 0;
                           });
    if (name == std::end(kOptionNames)) {
      result += message[at++];
    } else {
      result += name->spelled;
      at = end + 1;
    }
  }
  return result;
}

inline void check(poprt_error* error) {
  if (!error) return;
  const std::unique_ptr<poprt_error, decltype(&poprt_error_free)> owner(error, poprt_error_free);
  throw Error(static_cast<ErrorCode>(poprt_error_get_code(error)),
              spelled(poprt_error_message(error)));
}

inline std::string take(poprt_string* text) {
  const std::unique_ptr<poprt_string, decltype(&poprt_string_free)> owner(text, poprt_string_free);
  return {poprt_string_data(text), poprt_string_size(text)};
}

// The text for the C library, which ends it at the first zero character. Throws invalid_argument
// with the name of the argument if it contains one.
inline const char* text(const std::string& value, const char* name) {
  if (value.find('\0') == std::string::npos) return value.c_str();
  throw Error(ErrorCode::invalid_argument,
              std::string("argument '") + name + "' contains the character \\0");
}

// Checks an argument that must not be null.
template <class T>
const T& given(const std::shared_ptr<T>& pointer, const char* name) {
  if (pointer) return *pointer;
  throw Error(ErrorCode::invalid_argument, std::string("argument '") + name + "' is null");
}

}  // namespace detail

}  // namespace v1
}  // namespace poprt

// Model Runtime and PopEF have namespaces at top level, in which programs may declare their
// classes. PopRT's names for them are aliases.
namespace model_runtime {
namespace detail = ::poprt::detail;
using ::poprt::Error;
using ::poprt::ErrorCode;
}  // namespace model_runtime
namespace popef {
namespace detail = ::poprt::detail;
using ::poprt::ErrorCode;
}  // namespace popef
namespace poprt {
inline namespace v1 {
namespace runtime = ::model_runtime;
namespace popef = ::popef;
}  // namespace v1
}  // namespace poprt
