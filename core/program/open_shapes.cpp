#include "program/open_shapes.h"

#include <set>

#include "base/error.h"
#include "base/json.h"

namespace poprt::program {
namespace {

using OpenJson = nlohmann::ordered_json;

OpenJson open_json(const std::vector<OpenAnchor>& anchors) {
  OpenJson list = OpenJson::array();
  for (const OpenAnchor& a : anchors)
    list.push_back({{"name", a.name},
                    {"type", static_cast<int>(a.dtype)},
                    {"shape", a.shape},
                    {"names", a.names}});
  return list;
}

std::vector<OpenAnchor> open_anchors(const OpenJson& json) {
  std::vector<OpenAnchor> anchors;
  std::set<std::string> names;
  for (const OpenJson& entry : json) {
    OpenAnchor& a = anchors.emplace_back();
    a.name = entry.at("name");
    const int64_t type = whole_number(entry.at("type"));
    a.dtype = type > 0 && type < kDTypeCount ? static_cast<DType>(type) : DType::undefined;
    a.shape = whole_numbers(entry.at("shape"));
    a.names = entry.at("names").get<std::vector<std::string>>();
    bool valid =
        dtype_bits(a.dtype) != 0 && a.names.size() == a.shape.size() && names.insert(a.name).second;
    for (size_t d = 0; valid && d < a.shape.size(); d++)
      valid = a.shape[d] >= kOpen && (a.shape[d] == kOpen || a.names[d].empty());
    if (!valid)
      fail(ErrorCode::data_loss, "opaque blob '{}': '{}' is invalid", kOpenShapes, a.name);
  }
  return anchors;
}

}  // namespace

std::string note_of_open_shapes(const OpenShapes& shapes) {
  return json_text(
      OpenJson{{"inputs", open_json(shapes.inputs)}, {"outputs", open_json(shapes.outputs)}});
}

OpenShapes read_open_shapes(std::string_view note) {
  OpenShapes shapes;
  try {
    const OpenJson json = parse_ordered_json(note);
    shapes = {open_anchors(json.at("inputs")), open_anchors(json.at("outputs"))};
  } catch (const nlohmann::json::exception& e) {
    fail(ErrorCode::data_loss, "opaque blob '{}': {}", kOpenShapes, e.what());
  }
  for (const OpenAnchor& a : shapes.inputs)
    for (size_t d = 0; d < a.shape.size(); d++)
      if (a.shape[d] == kOpen && a.names[d].empty())
        fail(ErrorCode::data_loss, "opaque blob '{}': dimension {} of input '{}' has no name",
             kOpenShapes, d, a.name);
  return shapes;
}

}  // namespace poprt::program
