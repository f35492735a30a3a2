#include "serve/request_parameters.h"

#include <limits>

#include "serving/handles.h"

namespace poprt::serve {
namespace {

constexpr size_t kShown = 64;  // bytes of a value in a message

[[noreturn]] void refuse_parameter(const Parameter& p, const std::string& where,
                                   const std::string& expected) {
  const std::string shown = p.text.size() <= kShown ? p.text : p.text.substr(0, kShown) + "...";
  throw serving::Error(POPRT_INVALID_ARGUMENT, where + "parameter " + in_quotes(p.name) + " is " +
                                                   shown + "; expected " + expected);
}

[[noreturn]] void refuse_unknown(const Parameter& p, const std::string& where,
                                 const std::string& known) {
  throw serving::Error(POPRT_INVALID_ARGUMENT, where + "there is no parameter " +
                                                   in_quotes(p.name) + "; expected " + known);
}

uint64_t count_of(const Parameter& p, const std::string& where) {
  if (const auto* number = std::get_if<uint64_t>(&p.value)) return *number;
  if (const auto* number = std::get_if<int64_t>(&p.value); number && *number >= 0)
    return static_cast<uint64_t>(*number);
  refuse_parameter(p, where, "a whole number from 0 on");
}

bool requests_nothing(const Parameter& p) {
  if (const auto* number = std::get_if<uint64_t>(&p.value)) return *number == 0;
  if (const auto* number = std::get_if<int64_t>(&p.value)) return *number == 0;
  if (const auto* text = std::get_if<std::string>(&p.value)) return text->empty();
  return false;
}

bool is_shared_memory(const Parameter& p) { return p.name.starts_with("shared_memory_"); }

[[noreturn]] void refuse_shared_memory(const Parameter& p, const std::string& where) {
  refuse_parameter(p, where, "none: the server has no shared memory, send the tensor");
}

}  // namespace

void check_type(const std::string& input, poprt_dtype given, poprt_dtype expected) {
  if (given != expected)
    throw serving::Error(POPRT_INVALID_ARGUMENT, "input " + in_quotes(input) + " has type " +
                                                     serving::datatype_name(given) + "; expected " +
                                                     serving::datatype_name(expected));
}

std::string in_quotes(std::string_view text) {
  return text.size() <= kShown ? "'" + std::string(text) + "'"
                               : "'" + std::string(text.substr(0, kShown)) + "...'";
}

bool flag_of(const Parameter& parameter, const std::string& where) {
  if (const auto* flag = std::get_if<bool>(&parameter.value)) return *flag;
  refuse_parameter(parameter, where, "true or false");
}

void read_request_parameter(const Parameter& p, RequestParameters& to) {
  if (p.name == "binary_data_output") {
    to.binary = flag_of(p, "");
  } else if (p.name == "timeout") {  // in microseconds
    const uint64_t timeout = count_of(p, "");
    if (timeout > static_cast<uint64_t>(std::numeric_limits<int64_t>::max() / 1000))
      refuse_parameter(p, "", "at most " + std::to_string(INT64_MAX / 1000));
    to.timeout_ns = static_cast<int64_t>(timeout) * 1000;
  } else if (p.name == "priority") {
    if (count_of(p, "") != 0) refuse_parameter(p, "", "0: the server has no priorities");
  } else if (p.name == "sequence_id") {
    if (!requests_nothing(p)) refuse_parameter(p, "", "0 or none: the server has no sequences");
  } else if (p.name == "sequence_start" || p.name == "sequence_end") {
    if (flag_of(p, "")) refuse_parameter(p, "", "false: the server has no sequences");
  } else if (p.name == "triton_enable_empty_final_response") {
    if (flag_of(p, "")) refuse_parameter(p, "", "false: a request has one response");
  } else {
    refuse_unknown(p, "",
                   "binary_data_output, timeout, priority, sequence_id, sequence_start, "
                   "sequence_end or triton_enable_empty_final_response");
  }
}

std::optional<uint64_t> read_input_parameter(const Parameter& p, const std::string& where) {
  if (p.name == "binary_data_size") return count_of(p, where);
  if (is_shared_memory(p)) refuse_shared_memory(p, where);
  refuse_unknown(p, where, "binary_data_size");
}

void read_output_parameter(const Parameter& p, const std::string& where, bool& binary) {
  if (p.name == "binary_data") {
    binary = flag_of(p, where);
  } else if (p.name == "classification") {
    if (count_of(p, where) != 0)
      refuse_parameter(p, where, "0: the server returns tensors, not their largest values");
  } else if (is_shared_memory(p)) {
    refuse_shared_memory(p, where);
  } else {
    refuse_unknown(p, where, "binary_data or classification");
  }
}

}  // namespace poprt::serve
