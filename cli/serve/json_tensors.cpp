#include "serve/json_tensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

namespace poprt::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kDepth = 32;            // of nested arrays and objects
constexpr size_t kMaxObjectFields = 64;  // of an object

[[noreturn]] void refuse(const std::string& message) {
  throw Error(POPRT_INVALID_ARGUMENT, message);
}

std::string cut(const std::string& text) {
  constexpr size_t kMost = 64;
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

[[noreturn]] void refuse_value(const std::string& key, const Json& value, const char* expected) {
  const std::string found = value.is_array() ? "an array"
                            : value.is_object()
                                ? "an object"
                                : cut(value.dump(-1, ' ', false, Json::error_handler_t::replace));
  refuse("'" + key + "' is " + found + "; expected " + expected);
}

// Returns the characters of a string of JSON, given without its quotes. A string that is not valid
// is returned as it is; the parser refuses it.
std::string decoded(std::string_view written) {
  if (written.find('\\') == std::string_view::npos) return std::string(written);
  const Json json = Json::parse('"' + std::string(written) + '"', nullptr, false);
  return json.is_string() ? json.get<std::string>() : std::string(written);
}

// Refuses text with arrays and objects that are nested too deeply, and objects with too many fields
// or with a field twice. The parser would keep the last of two fields, and its time is quadratic in
// the number of fields of an object. Its interface with a callback for each value is no
// alternative, because it takes quadratic time for an array of objects.
void check_structure(std::string_view text) {
  struct Level {
    bool object;
    std::vector<std::string> fields;
  };
  std::vector<Level> levels;
  std::string_view last;  // the last string without its quotes, not decoded
  size_t begin = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') i++;
      if (c != '"') continue;
      last = text.substr(begin, i - begin);
      quoted = false;
    } else if (c == '"') {
      quoted = true;
      begin = i + 1;
    } else if (c == '[' || c == '{') {
      if (levels.size() == kDepth)
        refuse("the JSON is nested deeper than " + std::to_string(kDepth));
      levels.push_back({c == '{', {}});
    } else if ((c == ']' || c == '}') && !levels.empty()) {
      levels.pop_back();
    } else if (c == ':' && !levels.empty() && levels.back().object) {
      auto& fields = levels.back().fields;
      std::string field = decoded(last);
      if (std::ranges::find(fields, field) != fields.end())
        refuse("the JSON has the field " + in_quotes(field) + " twice in one object");
      if (fields.size() == kMaxObjectFields)
        refuse("the JSON has an object with more than " + std::to_string(kMaxObjectFields) +
               " fields");
      fields.push_back(std::move(field));
    }
  }
}

std::string shown(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  if (!found->is_string()) refuse_value(key, *found, "a string");
  return found->get<std::string>();
}

const Json& list_of(const Json& object, const char* key) {
  static const Json none = Json::array();
  const auto found = object.find(key);
  if (found == object.end()) return none;
  if (!found->is_array()) refuse_value(key, *found, "an array");
  for (const Json& item : *found)
    if (!item.is_object()) refuse_value(key, item, "objects in it");
  return *found;
}

// Refuses keys that the protocol does not have. `known` contains the others, with a space before
// and after each.
void check_keys(const Json& object, const std::string& where, const std::string& known) {
  for (const auto& [key, value] : object.items())
    if (key.find(' ') != std::string::npos || known.find(" " + key + " ") == std::string::npos)
      refuse(where + "there is no field " + in_quotes(key) + "; expected one of" +
             known.substr(0, known.size() - 1));
}

// Calls the function with each parameter of an object.
template <class Function>
void for_each_parameter(const Json& object, const std::string& where, Function&& function) {
  const auto all = object.find("parameters");
  if (all == object.end()) return;
  if (!all->is_object())
    refuse(where + "'parameters' is " + cut(shown(*all)) + "; expected an object");
  for (const auto& [name, value] : all->items()) {
    Parameter parameter{name, {}, shown(value)};
    if (value.is_boolean())
      parameter.value = value.get<bool>();
    else if (value.is_number_unsigned())
      parameter.value = value.get<uint64_t>();
    else if (value.is_number_integer())
      parameter.value = value.get<int64_t>();
    else if (value.is_number())
      parameter.value = value.get<double>();
    else if (value.is_string())
      parameter.value = value.get<std::string>();
    function(parameter);
  }
}

// Rounds a finite number to odd: to the float of two neighbours whose last bit is set, unless the
// number is a float. Rounding the result to 16 bits then equals rounding the number once.
float to_float_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const auto back = static_cast<double>(nearest);
  if (back == value || !std::isfinite(nearest)) return nearest;
  const float below = std::fabs(back) > std::fabs(value) ? std::nextafter(nearest, 0.0F) : nearest;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(below) | 1U);
}

_Float16 to_half(double value) { return static_cast<_Float16>(to_float_odd(value)); }

// A number of 16 bits of type BF16.
struct Bfloat16 {
  uint16_t bits;
};

Bfloat16 to_bfloat16(double value) {
  const auto bits = std::bit_cast<uint32_t>(to_float_odd(value));
  return {static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}

float from_bfloat16(uint16_t half) {
  const uint32_t bits = static_cast<uint32_t>(half) << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

bool is_infinite(_Float16 value) { return std::isinf(static_cast<float>(value)); }
bool is_infinite(Bfloat16 value) { return std::isinf(from_bfloat16(value.bits)); }
template <class T>
bool is_infinite(T) {
  return false;  // number() has refused it
}

[[noreturn]] void refuse_number(const Json& value, const InputTensor& input) {
  refuse("input " + in_quotes(input.name) + " has the value " + cut(shown(value)) + ", which " +
         serving::datatype_name(input.dtype) + " does not have");
}

template <class T>
T number(const Json& value, const InputTensor& input) {
  if constexpr (std::is_integral_v<T>) {
    if (value.is_boolean()) return static_cast<T>(value.get<bool>());
    if (value.is_number_unsigned() && value.get<uint64_t>() <= std::numeric_limits<T>::max())
      return static_cast<T>(value.get<uint64_t>());
    if (value.is_number_integer() && !value.is_number_unsigned() && std::is_signed_v<T> &&
        value.get<int64_t>() >= static_cast<int64_t>(std::numeric_limits<T>::min()))
      return static_cast<T>(value.get<int64_t>());
  } else if (value.is_number()) {
    const double wide = value.get<double>();
    if (std::abs(wide) <= static_cast<double>(std::numeric_limits<T>::max())) return value.get<T>();
  }
  refuse_number(value, input);
}

// The lengths of nested arrays at each depth.
struct Nesting {
  std::vector<int64_t> lengths;
  size_t depth_of_numbers = 0;  // 0: unknown
};

// Refuses arrays of different lengths at one depth. `depth` is that of `data`, from 0.
void read_nesting(const Json& data, const InputTensor& input, size_t depth, Nesting& to) {
  const auto size = static_cast<int64_t>(data.size());
  if (depth == to.lengths.size()) to.lengths.push_back(size);
  if (to.lengths[depth] != size)
    refuse("input " + in_quotes(input.name) + ": 'data' has arrays with " +
           std::to_string(to.lengths[depth]) + " and with " + std::to_string(size) +
           " elements at one depth; expected arrays of one length, or one array of all numbers");
  for (const Json& value : data) {
    if (value.is_array()) {
      read_nesting(value, input, depth + 1, to);
      continue;
    }
    if (to.depth_of_numbers == 0) to.depth_of_numbers = depth + 1;
    if (to.depth_of_numbers != depth + 1 || to.lengths.size() > depth + 1)
      refuse("input " + in_quotes(input.name) + ": 'data' has a number next to an array");
  }
}

// Refuses nested arrays whose values in order would have other places than the client wrote.
// Arrays that are not as deep as the shape only need the number of its values.
void check_nesting(const Json& data, const InputTensor& input) {
  Nesting nesting;
  read_nesting(data, input, 0, nesting);
  const auto& lengths = nesting.lengths;
  if (lengths.size() > 1 && lengths.size() == input.shape.size() && lengths != input.shape)
    refuse("input " + in_quotes(input.name) + ": 'data' has arrays of shape " +
           serving::shape_text(lengths) + "; expected " + serving::shape_text(input.shape) +
           ", or one array of all numbers");
}

// Appends the numbers of nested arrays in order.
template <class T, class Convert>
void flatten(const Json& data, const InputTensor& input, std::vector<char>& bytes, size_t limit,
             Convert convert) {
  for (const Json& value : data) {
    if (value.is_array()) {
      flatten<T>(value, input, bytes, limit, convert);
      continue;
    }
    const auto item = convert(number<T>(value, input));
    if (is_infinite(item)) refuse_number(value, input);
    if (bytes.size() + sizeof item > limit)
      refuse("input " + in_quotes(input.name) + " has more values than its shape");
    const char* const from = reinterpret_cast<const char*>(&item);
    bytes.insert(bytes.end(), from, from + sizeof item);
  }
}

std::vector<char> dense(const Json& data, const InputTensor& input, size_t bytes) {
  std::vector<char> dense;
  const auto same = [](auto value) { return value; };
  switch (input.dtype) {
    case POPRT_DTYPE_BOOL: {
      const auto truth = [&](uint8_t value) {
        if (value > 1) refuse_number(value, input);
        return value;
      };
      flatten<uint8_t>(data, input, dense, bytes, truth);
      break;
    }
    case POPRT_DTYPE_U8: flatten<uint8_t>(data, input, dense, bytes, same); break;
    case POPRT_DTYPE_U16: flatten<uint16_t>(data, input, dense, bytes, same); break;
    case POPRT_DTYPE_U32: flatten<uint32_t>(data, input, dense, bytes, same); break;
    case POPRT_DTYPE_U64: flatten<uint64_t>(data, input, dense, bytes, same); break;
    case POPRT_DTYPE_S8: flatten<int8_t>(data, input, dense, bytes, same); break;
    case POPRT_DTYPE_S16: flatten<int16_t>(data, input, dense, bytes, same); break;
    case POPRT_DTYPE_S32: flatten<int32_t>(data, input, dense, bytes, same); break;
    case POPRT_DTYPE_S64: flatten<int64_t>(data, input, dense, bytes, same); break;
    case POPRT_DTYPE_F32: flatten<float>(data, input, dense, bytes, same); break;
    case POPRT_DTYPE_F64: flatten<double>(data, input, dense, bytes, same); break;
    case POPRT_DTYPE_BF16: flatten<double>(data, input, dense, bytes, to_bfloat16); break;
    default: flatten<double>(data, input, dense, bytes, to_half);
  }
  return dense;
}

template <class T, class Convert>
void numbers(Json& data, const OutputTensor& output, Convert convert) {
  const size_t count = output.bytes / sizeof(T);
  for (size_t i = 0; i < count; i++) {
    T value;
    std::memcpy(&value, static_cast<const char*>(output.data) + i * sizeof(T), sizeof value);
    data.push_back(convert(value));
  }
}

Json json_data(const OutputTensor& output) {
  Json data = Json::array();
  const auto same = [](auto value) { return value; };
  switch (output.spec->dtype) {
    case POPRT_DTYPE_BOOL:
      numbers<uint8_t>(data, output, [](uint8_t value) { return value != 0; });
      break;
    case POPRT_DTYPE_U8: numbers<uint8_t>(data, output, same); break;
    case POPRT_DTYPE_U16: numbers<uint16_t>(data, output, same); break;
    case POPRT_DTYPE_U32: numbers<uint32_t>(data, output, same); break;
    case POPRT_DTYPE_U64: numbers<uint64_t>(data, output, same); break;
    case POPRT_DTYPE_S8: numbers<int8_t>(data, output, same); break;
    case POPRT_DTYPE_S16: numbers<int16_t>(data, output, same); break;
    case POPRT_DTYPE_S32: numbers<int32_t>(data, output, same); break;
    case POPRT_DTYPE_S64: numbers<int64_t>(data, output, same); break;
    case POPRT_DTYPE_F32: numbers<float>(data, output, same); break;
    case POPRT_DTYPE_F64: numbers<double>(data, output, same); break;
    case POPRT_DTYPE_BF16: numbers<uint16_t>(data, output, from_bfloat16); break;
    default: numbers<_Float16>(data, output, [](_Float16 v) { return static_cast<float>(v); });
  }
  return data;
}

void parse_shape(const Json& given, InputTensor& input, const std::string& where) {
  constexpr uint64_t kMost = uint64_t{1} << 40;
  const auto shape = given.find("shape");
  if (shape == given.end()) refuse(where + "there is no 'shape'; expected an array of sizes");
  if (!shape->is_array())
    refuse(where + "'shape' is " + cut(shown(*shape)) + "; expected an array of sizes");
  for (const Json& size : *shape) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() > kMost)
      refuse(where + "'shape' has a size of " + cut(shown(size)) + ", which is not possible");
    input.shape.push_back(size.get<int64_t>());
  }
}

void parse_input(const Json& given, JsonRequest& request, size_t& at,
                 const std::vector<serving::TensorSpec>& specs) {
  InputTensor input;
  input.name = text_of(given, "name");
  const std::string where = "input " + in_quotes(input.name) + ": ";
  check_keys(given, where, " name shape datatype data parameters ");
  const std::string datatype = text_of(given, "datatype");
  input.dtype = serving::datatype_of(datatype);
  if (input.dtype == POPRT_DTYPE_UNDEFINED)
    refuse("input " + in_quotes(input.name) + " has datatype " + in_quotes(datatype) +
           ", which is not known");
  // Before the values are read: a message about one of them would not state the cause.
  for (const serving::TensorSpec& spec : specs)
    if (spec.name == input.name) check_type(input.name, input.dtype, spec.dtype);
  parse_shape(given, input, where);
  const size_t bytes = [&] {
    try {
      return serving::tensor_bytes(input.dtype, input.shape);
    } catch (const Error& e) {
      throw Error(e.code(), where + e.what());
    }
  }();
  std::optional<uint64_t> size;
  for_each_parameter(given, where, [&](const Parameter& parameter) {
    if (const auto given_size = read_input_parameter(parameter, where)) size = given_size;
  });
  const auto data = given.find("data");
  if (size) {
    if (data != given.end())
      refuse(where + "there are 'data' and binary_data_size; expected one of them");
    if (*size > request.body.size() - at)
      refuse(where + "the binary_data_size is " + std::to_string(*size) +
             ", which is beyond the end of the body: " + std::to_string(request.body.size() - at) +
             " bytes follow");
    const char* const begin = request.body.data() + at;
    input.data = begin;
    input.bytes = *size;
    at += input.bytes;
    // The size of the JSON decides where tensors begin. Kernels read elements at aligned addresses.
    if (reinterpret_cast<uintptr_t>(begin) % serving::tensor_bytes(input.dtype, {1}) != 0)
      input.data = request.converted.emplace_back(begin, begin + input.bytes).data();
  } else {
    if (data == given.end() || !data->is_array())
      refuse(where + "there are no 'data'; expected an array, or the parameter binary_data_size");
    check_nesting(*data, input);
    request.converted.push_back(dense(*data, input, bytes));
    input.data = request.converted.back().data();
    input.bytes = request.converted.back().size();
  }
  request.inputs.push_back(std::move(input));
}

void parse_output(const Json& given, JsonRequest& request) {
  const std::string name = text_of(given, "name");
  const std::string where = "output " + in_quotes(name) + ": ";
  check_keys(given, where, " name parameters ");
  bool binary = request.parameters.binary;
  for_each_parameter(given, where, [&](const Parameter& parameter) {
    read_output_parameter(parameter, where, binary);
  });
  request.wanted.push_back(name);
  request.wanted_binary.push_back(binary);
}

}  // namespace

Json parse_object(std::string_view text) {
  if (text.empty()) refuse("the body is not a JSON object: it is empty");
  check_structure(text);
  Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (json.is_discarded())
    refuse(
        "the body is not a JSON object: the text is not valid JSON, which has no NaN and no "
        "numbers beyond the range of double");
  if (!json.is_object()) refuse("the body is not a JSON object");
  return json;
}

void parse_request(JsonRequest& request, size_t json_size,
                   const std::vector<serving::TensorSpec>& specs) {
  const Json json = parse_object(std::string_view(request.body).substr(0, json_size));
  check_keys(json, "", " id inputs outputs parameters ");
  request.id = text_of(json, "id");
  for_each_parameter(json, "", [&](const Parameter& parameter) {
    read_request_parameter(parameter, request.parameters);
  });
  size_t at = json_size;
  for (const Json& input : list_of(json, "inputs")) parse_input(input, request, at, specs);
  if (at != request.body.size())
    refuse("the body has " + std::to_string(request.body.size() - at) +
           " bytes that belong to no input");
  for (const Json& output : list_of(json, "outputs")) parse_output(output, request);
}

void parse_repository_request(std::string_view body, const char* flag, bool& value) {
  if (body.empty()) return;
  const Json json = parse_object(body);
  // The request for an index has the flag itself, and others have it as a parameter.
  const bool index = std::string_view(flag) == "ready";
  check_keys(json, "", index ? " ready " : " parameters ");
  const auto read = [&](const Parameter& parameter) {
    if (parameter.name != flag || !*flag)
      refuse("there is no parameter " + in_quotes(parameter.name) + "; expected " +
             (*flag ? flag : "none: models are loaded as they are in the repository"));
    value = flag_of(parameter, "");
  };
  if (!index)
    for_each_parameter(json, "", read);
  else if (const auto found = json.find(flag); found != json.end()) {
    if (!found->is_boolean()) refuse_value(flag, *found, "true or false");
    value = found->get<bool>();
  }
}

std::string format_response(const Result& result, const JsonRequest& request, size_t& json_size) {
  Json json = {{"model_name", result.model->name}, {"model_version", result.model->version}};
  if (!request.id.empty()) json["id"] = request.id;
  json["outputs"] = Json::array();
  size_t tail = 0;
  std::vector<const OutputTensor*> binary;
  for (size_t i = 0; i < result.outputs.size(); i++) {
    const OutputTensor& output = result.outputs[i];
    Json tensor = {{"name", output.spec->name},
                   {"datatype", serving::datatype_name(output.spec->dtype)},
                   {"shape", output.shape}};
    if (i < request.wanted_binary.size() ? request.wanted_binary[i] : request.parameters.binary) {
      tensor["parameters"] = {{"binary_data_size", output.bytes}};
      binary.push_back(&output);
      tail += output.bytes;
    } else {
      tensor["data"] = json_data(output);
    }
    json["outputs"].push_back(std::move(tensor));
  }
  std::string body = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  json_size = binary.empty() ? 0 : body.size();
  body.reserve(body.size() + tail);
  for (const OutputTensor* output : binary)
    body.append(static_cast<const char*>(output->data), output->bytes);
  return body;
}

std::string format_error(std::string_view message) {
  return Json{{"error", message}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string format_metadata(const LoadedModel& loaded) {
  const auto describe = [&](const std::vector<serving::TensorSpec>& specs) {
    Json tensors = Json::array();
    for (const serving::TensorSpec& spec : specs) {
      std::vector<int64_t> shape = spec.shape;
      if (loaded.model.batch_rows() > 0) shape[0] = -1;
      tensors.push_back({{"name", spec.name},
                         {"datatype", serving::datatype_name(spec.dtype)},
                         {"shape", shape}});
    }
    return tensors;
  };
  return Json{{"name", loaded.name},
              {"versions", {loaded.version}},
              {"platform", "poprt_popef"},
              {"inputs", describe(loaded.model.inputs())},
              {"outputs", describe(loaded.model.outputs())}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace poprt::serve
