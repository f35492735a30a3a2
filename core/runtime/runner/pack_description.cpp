#include "runtime/runner/pack_description.h"

#include <algorithm>

#include "base/error.h"
#include "base/json.h"

namespace poprt::runtime {
namespace {

constexpr std::string_view kUnpackInfo = "unpack_info";

// Whether callers provide the input, and neither the runner nor the model does.
bool is_callers(const Model& model, size_t input, std::string_view unpack_info) {
  const bool fixed = input < model.input_data.size() && !model.input_data[input].empty();
  return !fixed && !model.is_seed(input) && model.inputs()[input].name != unpack_info;
}

}  // namespace

std::optional<PackDescription> pack_description(const Model& model) {
  const auto found = std::ranges::find(model.onnx_metadata, kPackDescription,
                                       [](const auto& e) -> std::string_view { return e.first; });
  if (found == model.onnx_metadata.end()) return std::nullopt;
  try {
    const auto json = parse_json(found->second);
    PackDescription d;
    d.unpack_info = json.at("unpack_info").get<std::string>();
    d.max_valid_num = static_cast<uint64_t>(whole_number(json.at("max_valid_num")));
    for (const int64_t size : whole_numbers(json.at("segment_max_size")))
      d.segment_max_size.push_back(static_cast<uint64_t>(size));
    d.dynamic = json.at("dynamic").get<std::vector<std::string>>();
    const auto usable = [](uint64_t size) { return size > 0 && size <= uint64_t{1} << 20; };
    if (usable(d.max_valid_num) && !d.dynamic.empty() && !d.segment_max_size.empty() &&
        std::ranges::all_of(d.segment_max_size, usable))
      return d;
    fail(ErrorCode::data_loss, "PackRunnerConfig of the model: a number is out of range");
  } catch (const nlohmann::json::exception& e) {
    fail(ErrorCode::data_loss, "PackRunnerConfig of the model: {}", e.what());
  }
}

void complete(PackRunnerConfig& config, const Model& model,
              const std::optional<PackDescription>& description) {
  if (description) {
    if (config.disable_data_across_rows || config.delimiter_num)
      fail(ErrorCode::invalid_argument,
           "the model unpacks contiguous sequences: leave single row mode and "
           "delimiters off, they are for models with an attention mask of item numbers");
    if (config.unpack_info_input_name.empty())
      config.unpack_info_input_name = description->unpack_info;
    if (config.dynamic_input_name.empty()) config.dynamic_input_name = description->dynamic[0];
    for (const std::string& name : description->dynamic)
      if (name != config.dynamic_input_name) config.dynamic_group.push_back(name);
    return;
  }
  const auto& inputs = model.inputs();
  if (config.unpack_info_input_name.empty() && !config.disable_data_across_rows &&
      config.dynamic_input_name.empty())
    for (const auto& a : inputs)
      if (a.name == kUnpackInfo && a.dtype == DType::s32)
        config.unpack_info_input_name = kUnpackInfo;
  if (config.dynamic_input_name.empty()) config.dynamic_input_name = config.mask_name;
  for (size_t least : {size_t{2}, size_t{1}})
    for (size_t i = 0; i < inputs.size(); i++)
      if (config.dynamic_input_name.empty() && inputs[i].shape.size() >= least &&
          is_callers(model, i, config.unpack_info_input_name))
        config.dynamic_input_name = inputs[i].name;
  if (config.dynamic_input_name.empty())
    fail(ErrorCode::failed_precondition,
         "the model has no input of variable length: give `dynamic_input_name`");
}

}  // namespace poprt::runtime
