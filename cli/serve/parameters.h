// Parameters of infer requests in both protocols. Each of them has an effect, or is refused unless
// its value requests nothing.
//
// For example, "timeout": 5000 limits a request to 5 ms, "priority": 0 has no effect, and
// "priority": 3 is refused, because the server has no priorities.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace poprt::serve {

struct Parameter {
  std::string name;
  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string> value;
  std::string text;  // the value for messages
};

// Of a request.
struct RequestParameters {
  bool binary = false;     // whether outputs are binary, unless they state otherwise
  int64_t timeout_ns = 0;  // of the request; 0: that of the server
};

// All throw Error (invalid_argument) for an unknown parameter, a wrong type, and a value that the
// server cannot satisfy. `where` is the start of messages, such as "input 'image': ".
void read_request_parameter(const Parameter& parameter, RequestParameters& to);
// Returns the size of the input's bytes after the JSON.
std::optional<uint64_t> read_input_parameter(const Parameter& parameter, const std::string& where);
// Sets `binary` if the parameter states it.
void read_output_parameter(const Parameter& parameter, const std::string& where, bool& binary);

// Throws Error (invalid_argument) unless the value is true or false.
bool flag_of(const Parameter& parameter, const std::string& where);

// A text in quotes for messages, cut to a short one.
std::string in_quotes(std::string_view text);

}  // namespace poprt::serve
