#include "onnx/assumed_opset.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "ir/schemas.h"
#include "onnx/limits.h"

namespace poprt::onnx {
namespace {

namespace pb = ::onnx;

constexpr std::array<std::string_view, 5> kKnown = {"com.microsoft", "ai.onnx.ml", "ai.graphcore",
                                                    "ai.onnx.preview", "ai.onnx.preview.training"};

template <class Nodes>
int64_t oldest_opset_for(const Nodes& nodes, const std::string& domain) {
  int64_t version = 1;
  for (const pb::NodeProto& node : nodes) {
    std::vector<std::string> names;
    for (const pb::AttributeProto& a : node.attribute()) {
      names.push_back(a.name());
      if (a.has_g()) version = std::max(version, oldest_opset_for(a.g().node(), domain));
      for (const pb::GraphProto& g : a.graphs())
        version = std::max(version, oldest_opset_for(g.node(), domain));
    }
    if (node.domain() == domain)
      version = std::max(version, ir::first_opset_with(domain, node.op_type(), names));
  }
  return version;
}

}  // namespace

std::optional<int64_t> assumed_opset(const pb::ModelProto& model, const std::string& domain) {
  if (domain.empty()) return kMaxOpset;
  if (std::find(kKnown.begin(), kKnown.end(), domain) == kKnown.end()) return std::nullopt;
  int64_t version = oldest_opset_for(model.graph().node(), domain);
  for (const pb::FunctionProto& f : model.functions())
    version = std::max(version, oldest_opset_for(f.node(), domain));
  return version;
}

}  // namespace poprt::onnx
