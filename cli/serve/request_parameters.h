// Parameters of infer requests in both protocols. A parameter that the server does not support is
// refused, unless its value requests nothing.
//
// For example, "timeout": 5000 limits a request to 5 ms, "priority": 0 has no effect, and
// "priority": 3 is refused, because the server has no priorities.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "serving/served_model.h"

namespace poprt::serve {

struct Parameter {
  std::string name;
  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string> value;
  std::string text;  // the value for messages
};

// The parameters of a whole request, in contrast to those of one input or output.
struct RequestParameters {
  bool binary = false;     // whether outputs are binary, unless they state otherwise
  int64_t timeout_ns = 0;  // if 0, only the server's limit applies
};

// All throw Error (invalid_argument) for an unknown parameter, a wrong type, and a value that the
// server cannot satisfy. `where` is the start of messages, such as "input 'image': ".
void read_request_parameter(const Parameter& parameter, RequestParameters& to);
// Returns the size of the input's binary data, which follows the JSON.
std::optional<uint64_t> read_input_parameter(const Parameter& parameter, const std::string& where);
// Sets `binary` if the parameter states it.
void read_output_parameter(const Parameter& parameter, const std::string& where, bool& binary);

// Throws Error (invalid_argument) unless the value is true or false.
bool flag_of(const Parameter& parameter, const std::string& where);

// Throws Error (invalid_argument) if an input has another type than that of the model.
void check_type(const std::string& input, poprt_dtype given, poprt_dtype expected);

// Returns the text in single quotes for messages. A text of more than 64 bytes is cut.
std::string in_quotes(std::string_view text);

}  // namespace poprt::serve
