#include "serve/json_tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

namespace poprt::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDepth = 32;  // of nested arrays and objects

[[noreturn]] void refuse(const std::string& message) {
  throw Error(POPRT_INVALID_ARGUMENT, message);
}

// Whether arrays and objects are nested deeper than the limit. The parser could call a function for
// each value instead, but then it takes quadratic time for an array of objects.
bool is_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (quoted && c == '\\')
      i++;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '[' || c == '{') && ++depth > kDepth)
      return true;
    else if (!quoted && (c == ']' || c == '}'))
      depth--;
  }
  return false;
}

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  if (!found->is_string()) refuse("'" + std::string(key) + "' is not a string");
  return found->get<std::string>();
}

const Json& list_of(const Json& object, const char* key) {
  static const Json none = Json::array();
  const auto found = object.find(key);
  if (found == object.end()) return none;
  if (!found->is_array()) refuse("'" + std::string(key) + "' is not an array");
  for (const Json& item : *found)
    if (!item.is_object()) refuse("'" + std::string(key) + "' contains a value that is no object");
  return *found;
}

const Json* parameter(const Json& object, const char* key) {
  const auto all = object.find("parameters");
  if (all == object.end()) return nullptr;
  if (!all->is_object()) refuse("'parameters' is not an object");
  const auto found = all->find(key);
  return found == all->end() ? nullptr : &*found;
}

bool flag(const Json& object, const char* key, bool otherwise) {
  const Json* value = parameter(object, key);
  return value && value->is_boolean() ? value->get<bool>() : otherwise;
}

uint16_t bfloat16(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float from_bfloat16(uint16_t half) {
  const uint32_t bits = static_cast<uint32_t>(half) << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
T number(const Json& value, const std::string& name) {
  if constexpr (std::is_integral_v<T>) {
    if (value.is_boolean()) return static_cast<T>(value.get<bool>());
    if (value.is_number_unsigned() && value.get<uint64_t>() <= std::numeric_limits<T>::max())
      return static_cast<T>(value.get<uint64_t>());
    if (value.is_number_integer() && !value.is_number_unsigned() && std::is_signed_v<T> &&
        value.get<int64_t>() >= static_cast<int64_t>(std::numeric_limits<T>::min()))
      return static_cast<T>(value.get<int64_t>());
  } else if (value.is_number()) {
    return value.get<T>();
  }
  refuse("input '" + name + "' has a value that its type does not have");
}

// Appends the numbers of nested arrays in order.
template <class T, class Convert>
void flatten(const Json& data, const std::string& name, std::vector<char>& bytes, size_t limit,
             Convert convert) {
  for (const Json& value : data) {
    if (value.is_array()) {
      flatten<T>(value, name, bytes, limit, convert);
      continue;
    }
    const auto item = convert(number<T>(value, name));
    if (bytes.size() + sizeof item > limit)
      refuse("input '" + name + "' has more values than its shape");
    const char* const from = reinterpret_cast<const char*>(&item);
    bytes.insert(bytes.end(), from, from + sizeof item);
  }
}

std::vector<char> dense(const Json& data, const InputTensor& input, size_t bytes) {
  std::vector<char> dense;
  const auto same = [](auto value) { return value; };
  const std::string& name = input.name;
  switch (input.dtype) {
    case POPRT_DTYPE_BOOL: {
      const auto truth = [](uint8_t value) { return static_cast<uint8_t>(value != 0); };
      flatten<uint8_t>(data, name, dense, bytes, truth);
      break;
    }
    case POPRT_DTYPE_U8: flatten<uint8_t>(data, name, dense, bytes, same); break;
    case POPRT_DTYPE_U16: flatten<uint16_t>(data, name, dense, bytes, same); break;
    case POPRT_DTYPE_U32: flatten<uint32_t>(data, name, dense, bytes, same); break;
    case POPRT_DTYPE_U64: flatten<uint64_t>(data, name, dense, bytes, same); break;
    case POPRT_DTYPE_S8: flatten<int8_t>(data, name, dense, bytes, same); break;
    case POPRT_DTYPE_S16: flatten<int16_t>(data, name, dense, bytes, same); break;
    case POPRT_DTYPE_S32: flatten<int32_t>(data, name, dense, bytes, same); break;
    case POPRT_DTYPE_S64: flatten<int64_t>(data, name, dense, bytes, same); break;
    case POPRT_DTYPE_F32: flatten<float>(data, name, dense, bytes, same); break;
    case POPRT_DTYPE_F64: flatten<double>(data, name, dense, bytes, same); break;
    case POPRT_DTYPE_BF16: flatten<float>(data, name, dense, bytes, bfloat16); break;
    default:
      flatten<float>(data, name, dense, bytes,
                     [](float value) { return static_cast<_Float16>(value); });
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

void parse_input(const Json& given, JsonRequest& request, size_t& at) {
  InputTensor input;
  input.name = text_of(given, "name");
  const std::string datatype = text_of(given, "datatype");
  input.dtype = serving::datatype_of(datatype);
  if (input.dtype == POPRT_DTYPE_UNDEFINED)
    refuse("input '" + input.name + "' has datatype '" + datatype + "', which is not known");
  const auto shape = given.find("shape");
  if (shape == given.end() || !shape->is_array()) refuse("input '" + input.name + "' has no shape");
  for (const Json& size : *shape) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() > (uint64_t{1} << 40))
      refuse("input '" + input.name + "' has a size that is not possible");
    input.shape.push_back(size.get<int64_t>());
  }
  const size_t bytes = serving::tensor_bytes(input.dtype, input.shape);
  if (const Json* size = parameter(given, "binary_data_size")) {
    if (!size->is_number_unsigned() || size->get<uint64_t>() > request.body.size() - at)
      refuse("input '" + input.name + "' has a binary_data_size beyond the end of the body");
    input.data = request.body.data() + at;
    input.bytes = size->get<uint64_t>();
    at += input.bytes;
  } else {
    const auto data = given.find("data");
    if (data == given.end() || !data->is_array()) refuse("input '" + input.name + "' has no data");
    request.converted.push_back(dense(*data, input, bytes));
    input.data = request.converted.back().data();
    input.bytes = request.converted.back().size();
  }
  request.inputs.push_back(std::move(input));
}

}  // namespace

Json parse_object(std::string_view text) {
  if (is_deep(text)) refuse("the JSON is nested deeper than " + std::to_string(kDepth));
  Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_object()) refuse("the body is not a JSON object");
  return json;
}

void parse_request(JsonRequest& request, size_t json_size) {
  const Json json = parse_object(std::string_view(request.body).substr(0, json_size));
  request.id = text_of(json, "id");
  request.binary = flag(json, "binary_data_output", false);
  size_t at = json_size;
  for (const Json& input : list_of(json, "inputs")) parse_input(input, request, at);
  if (at != request.body.size())
    refuse("the body has " + std::to_string(request.body.size() - at) +
           " bytes that belong to no input");
  for (const Json& output : list_of(json, "outputs")) {
    request.wanted.push_back(text_of(output, "name"));
    request.wanted_binary.push_back(flag(output, "binary_data", request.binary));
  }
}

std::string format_response(const Result& result, const JsonRequest& request, size_t& json_size) {
  Json json = {{"model_name", result.model->name}, {"model_version", "1"}};
  if (!request.id.empty()) json["id"] = request.id;
  json["outputs"] = Json::array();
  size_t tail = 0;
  std::vector<const OutputTensor*> binary;
  for (size_t i = 0; i < result.outputs.size(); i++) {
    const OutputTensor& output = result.outputs[i];
    Json tensor = {{"name", output.spec->name},
                   {"datatype", serving::datatype_name(output.spec->dtype)},
                   {"shape", output.shape}};
    if (i < request.wanted_binary.size() ? request.wanted_binary[i] : request.binary) {
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
              {"versions", {"1"}},
              {"platform", "poprt_popef"},
              {"inputs", describe(loaded.model.inputs())},
              {"outputs", describe(loaded.model.outputs())}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace poprt::serve
