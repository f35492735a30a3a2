#include "model_config.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "generator_instance.h"
#include "request.h"

namespace poprt::triton {
namespace {

using Json = nlohmann::json;
using serving::Error;
using serving::ServedModel;
using serving::TensorSpec;

// Triton writes 64-bit integers in JSON as numbers or as strings.
int64_t integer(const Json& value, const std::string& what) {
  if (value.is_number_integer()) return value.get<int64_t>();
  int64_t number = 0;
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code == std::errc() && end == text.data() + text.size()) return number;
  }
  throw Error(POPRT_INVALID_ARGUMENT, what + " is " + value.dump() + "; expected an integer");
}

std::vector<int64_t> dims_of(const Json& tensor) {
  const Json& dims = tensor.contains("reshape") ? tensor["reshape"].value("shape", Json::array())
                                                : tensor.value("dims", Json::array());
  std::vector<int64_t> shape;
  for (const Json& size : dims) shape.push_back(integer(size, "a dimension"));
  return shape;
}

int32_t small_integer(const std::string& value, const std::string& what, int32_t most = 65536) {
  const int64_t number = integer(value, what);
  if (number < 0 || number > most)
    throw Error(POPRT_INVALID_ARGUMENT,
                what + " is " + value + "; expected 0 to " + std::to_string(most));
  return static_cast<int32_t>(number);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<int64_t> parse_list(const std::string& text, const std::string& what) {
  std::vector<int64_t> numbers;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const size_t dash = item.find('-');
    const int64_t first = integer(item.substr(0, dash), what);
    const int64_t last = dash == std::string::npos ? first : integer(item.substr(dash + 1), what);
    if (first < 0 || last < first || last - first > 65536)
      throw Error(POPRT_INVALID_ARGUMENT,
                  what + " has '" + item + "'; expected a list as in 0,2-3");
    for (int64_t id = first; id <= last; id++) numbers.push_back(id);
    begin = end + 1;
  }
  return numbers;
}

// The dimensions that the model has in the configuration. With a batch, dimension 0 is left out. A
// tensor without dimensions has none to leave out, and check_config() then refuses the batch.
std::vector<int64_t> config_dims(const std::vector<int64_t>& shape, bool batch) {
  if (!batch) return shape_for_triton(shape);
  return {shape.begin() + (shape.empty() ? 0 : 1), shape.end()};
}

Json tensor_json(const TensorSpec& spec, bool batch, bool optional) {
  Json json = {{"name", spec.name},
               {"data_type", std::string("TYPE_") + serving::datatype_name(spec.dtype)},
               {"dims", config_dims(spec.shape, batch)}};
  if (json["dims"].empty()) {  // Triton requires a dimension, and allows to remove it after rows
    json["dims"] = {1};
    json["reshape"] = {{"shape", Json::array()}};
  }
  if (optional) json["optional"] = true;
  return json;
}

bool absent(const Json& config, const char* key) {
  return !config.contains(key) || config[key].empty();
}

void check_tensor(const Json& given, const TensorSpec& spec, bool batch, const char* kind) {
  const std::string what = std::string(kind) + " '" + spec.name + "'";
  const std::string type = std::string("TYPE_") + serving::datatype_name(spec.dtype);
  const std::string found = given.value("data_type", "TYPE_INVALID");
  if (found != type)
    throw Error(POPRT_INVALID_ARGUMENT, "the configuration has " + what + " with data_type " +
                                            found + "; the model has " + type);
  const std::vector<int64_t> expected = config_dims(spec.shape, batch), dims = dims_of(given);
  const std::vector<int64_t> limit = config_dims(spec.limit, batch);
  bool fits = dims.size() == expected.size();
  for (size_t d = 0; fits && d < dims.size(); d++)
    fits = dims[d] == expected[d] || (expected[d] < 0 && dims[d] > 0 && dims[d] <= limit[d]);
  if (!fits)
    throw Error(POPRT_INVALID_ARGUMENT, "the configuration has " + what + " with dims " +
                                            serving::shape_text(dims) + "; the model has " +
                                            serving::shape_text(expected) +
                                            (batch ? " after the batch dimension" : ""));
}

bool has_tensor(const Json& config, const char* key, const std::string& name) {
  for (const Json& tensor : config.value(key, Json::array()))
    if (tensor.value("name", "") == name) return true;
  return false;
}

void check_tensors(const Json& config, const char* key, const char* kind,
                   const std::vector<TensorSpec>& specs, bool batch, bool all) {
  std::string names;
  for (const TensorSpec& spec : specs) names += (names.empty() ? "'" : ", '") + spec.name + "'";
  std::vector<bool> given(specs.size());
  for (const Json& tensor : config.value(key, Json::array())) {
    const std::string name = tensor.value("name", "");
    const auto spec = std::find_if(specs.begin(), specs.end(),
                                   [&](const TensorSpec& s) { return s.name == name; });
    if (spec == specs.end())
      throw Error(POPRT_INVALID_ARGUMENT, "the configuration has " + std::string(kind) + " '" +
                                              name + "'; the model has " + names);
    given[static_cast<size_t>(spec - specs.begin())] = true;
    check_tensor(tensor, *spec, batch, kind);
  }
  for (size_t i = 0; all && i < specs.size(); i++)
    if (!given[i])
      throw Error(POPRT_INVALID_ARGUMENT, "the configuration has no " + std::string(kind) + " '" +
                                              specs[i].name + "'; the model has " + names);
}

}  // namespace

int64_t max_batch_size(const Json& config) {
  return config.contains("max_batch_size") ? integer(config["max_batch_size"], "max_batch_size")
                                           : 0;
}

Parameters read_parameters(const Json& config, std::vector<std::string>& unknown) {
  Parameters parameters;
  parameters.load.file = config.value("default_model_filename", "");
  const Json given = config.value("parameters", Json::object());
  for (const auto& [name, entry] : given.items()) {
    const std::string what = "parameter '" + name + "'";
    if (!entry.is_object() || !entry.contains("string_value") || !entry["string_value"].is_string())
      throw Error(POPRT_INVALID_ARGUMENT,
                  what + " is " + entry.dump() + "; expected { string_value: \"...\" }");
    const auto value = entry["string_value"].get<std::string>();
    if (name == "timeout_ns") {
      parameters.timeout_ns = integer(value, what);
    } else if (name == "threads") {
      parameters.threads = small_integer(value, what);
    } else if (name == "max_shapes") {
      parameters.max_shapes = small_integer(value, what);
    } else if (name == "max_shape_mib") {
      parameters.max_shape_mib = small_integer(value, what, 1 << 30);
    } else if (name == "warm_up") {
      parameters.warm_up = split(value, ';');
    } else if (name == "synchronous_execution") {
      if (value != "0" && value != "1" && value != "true" && value != "false")
        throw Error(POPRT_INVALID_ARGUMENT, what + " is '" + value + "'; expected 0 or 1");
      parameters.synchronous_execution = value == "1" || value == "true";
    } else if (name == "devices") {
      parameters.devices = parse_list(value, what);
    } else if (name.starts_with("compile.")) {
      parameters.load.compile_options.emplace_back(name.substr(8), value);
    } else {
      unknown.push_back(name);
    }
  }
  return parameters;
}

void check_parameters(const Parameters& parameters, const ServedModel& model) {
  const bool open = model.kind() == serving::Kind::open;
  const char* const given = parameters.max_shapes > 0      ? "max_shapes"
                            : parameters.max_shape_mib > 0 ? "max_shape_mib"
                            : !parameters.warm_up.empty()  ? "warm_up"
                                                           : nullptr;
  if (!open && given)
    throw Error(POPRT_INVALID_ARGUMENT, std::string("parameter '") + given +
                                            "' has no effect: the shapes of the model are fixed" +
                                            (model.note().empty() ? "" : "; " + model.note()));
}

bool complete_config(Json& config, const ServedModel& model) {
  const Json before = config;
  const bool described = !absent(config, "input") || !absent(config, "output");
  // Triton refuses requests of more rows than max_batch_size. For a model of any shape, the value
  // stays 0, so that no number of rows is refused.
  const bool any_shape = model.kind() == serving::Kind::open;
  if (max_batch_size(config) == 0 && model.batch_rows() > 0 && !described && !any_shape)
    config["max_batch_size"] = model.batch_rows();
  const bool batch = max_batch_size(config) > 0;
  const bool several = model.kind() == serving::Kind::graphs;
  if (absent(config, "input"))
    for (const TensorSpec& spec : model.inputs())
      config["input"].push_back(tensor_json(spec, batch, several));
  if (absent(config, "output"))
    for (const TensorSpec& spec : model.outputs())
      config["output"].push_back(tensor_json(spec, batch, false));
  if (max_batch_size(config) > 1 && !config.contains("dynamic_batching") &&
      !config.contains("sequence_batching"))
    config["dynamic_batching"] = Json::object();
  return config != before;
}

void check_config(const Json& config, const ServedModel& model) {
  const int64_t batch = max_batch_size(config);
  const bool any_shape = model.kind() == serving::Kind::open;
  if (batch > 0 && any_shape && model.shared_rows() == 0)
    throw Error(POPRT_INVALID_ARGUMENT,
                "max_batch_size is " + std::to_string(batch) +
                    "; expected 0, because the first dimensions of the model's inputs and outputs "
                    "are not one size");
  if (batch > 0 && model.batch_rows() == 0 && model.shared_rows() == 0)
    throw Error(POPRT_INVALID_ARGUMENT,
                "max_batch_size is " + std::to_string(batch) +
                    "; expected 0, because requests cannot share a batch: " + model.refusal());
  if (batch > 0 && model.batch_rows() == 0 && batch > model.shared_rows())
    throw Error(POPRT_INVALID_ARGUMENT, "max_batch_size is " + std::to_string(batch) +
                                            "; the largest compiled shape has " +
                                            std::to_string(model.shared_rows()) + " rows");
  check_tensors(config, "input", "input", model.inputs(), batch > 0, true);
  check_tensors(config, "output", "output", model.outputs(), batch > 0, false);
}

bool complete_generator_config(Json& config) {
  const Json before = config;
  if (absent(config, "input"))
    for (const TensorSpec& spec : generator_inputs())
      config["input"].push_back(tensor_json(spec, false, &spec != &generator_inputs()[0]));
  if (absent(config, "output"))
    for (const TensorSpec& spec : generator_outputs())
      config["output"].push_back(tensor_json(spec, false, false));
  if (absent(config, "model_transaction_policy"))
    config["model_transaction_policy"] = {{"decoupled", true}};
  return config != before;
}

void check_generator_config(const Json& config, const Parameters& parameters) {
  if (max_batch_size(config) > 0)
    throw Error(POPRT_INVALID_ARGUMENT,
                "max_batch_size is " + std::to_string(max_batch_size(config)) +
                    "; expected 0, because each request to a generator is one text");
  if (parameters.timeout_ns != 0 || !parameters.synchronous_execution ||
      !parameters.devices.empty() || !parameters.load.compile_options.empty() ||
      parameters.max_shapes != 0 || parameters.max_shape_mib != 0 || !parameters.warm_up.empty())
    throw Error(POPRT_INVALID_ARGUMENT,
                "only parameter 'threads' has an effect on a generator; remove the others");
  Json all = config;
  for (const TensorSpec& spec : generator_inputs())
    if (&spec != &generator_inputs()[0] && !has_tensor(config, "input", spec.name))
      all["input"].push_back(tensor_json(spec, false, true));
  check_tensors(all, "input", "input", generator_inputs(), false, true);
  check_tensors(config, "output", "output", generator_outputs(), false, false);
}

bool is_decoupled(const Json& config) {
  return config.value("model_transaction_policy", Json::object()).value("decoupled", false);
}

}  // namespace poprt::triton
