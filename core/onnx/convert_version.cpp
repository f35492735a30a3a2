#include "onnx/convert_version.h"

#include <onnx/defs/schema.h>
#include <onnx/version_converter/convert.h>

#include <algorithm>
#include <exception>
#include <string>

#include "base/error.h"

namespace poprt::onnx {
namespace {

namespace pb = ::onnx;

// What the converter would drop, leave as it is, or report as a failed look-up.
std::string obstacle(const pb::ModelProto& model, int64_t opset) {
  if (model.functions_size() > 0) return "the model has functions of its own";
  if (model.graph().sparse_initializer_size() > 0) return "the model has sparse initializers";
  for (const auto& t : model.graph().initializer())
    if (t.data_location() == pb::TensorProto::EXTERNAL)
      return fmt::format("the data of '{}' is in another file", t.name());
  for (const auto& node : model.graph().node()) {
    const bool standard = node.domain().empty() || node.domain() == "ai.onnx";
    if (standard && !pb::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(opset)))
      return fmt::format("node '{}': opset {} has no operator {}", node.name(), opset,
                         node.op_type());
    for (const auto& a : node.attribute())
      if (a.has_g() || a.graphs_size() > 0)
        return fmt::format("node '{}' ({}) has a subgraph", node.name(), node.op_type());
  }
  return {};
}

bool is_standard(const pb::OperatorSetIdProto& import) {
  return import.domain().empty() || import.domain() == "ai.onnx";
}

}  // namespace

void convert_version(pb::ModelProto& model, int64_t target) {
  int64_t source = 0;
  for (const auto& import : model.opset_import())
    if (is_standard(import)) source = import.version();
  if (source == target || source == 0) return;
  const auto refuse = [&](const std::string& why) {
    fail(ErrorCode::unimplemented, "convert_version: no conversion from opset {} to {}: {}", source,
         target, why);
  };
  const int known = pb::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second;
  if (std::max(source, target) > known)
    refuse(fmt::format("the ONNX library of this build knows opsets up to {}", known));
  if (const std::string why = obstacle(model, source); !why.empty()) refuse(why);
  pb::ModelProto converted;
  try {
    converted = pb::version_conversion::ConvertVersion(model, static_cast<int>(target));
  } catch (const std::exception& e) {
    std::string why = e.what();
    why.resize(std::min(why.find('\n'), why.size()));
    // "FILE:LINE: FUNCTION: Assertion `...` failed: " says nothing to a user.
    constexpr std::string_view kAssertion = "` failed: ";
    if (const size_t at = why.find(kAssertion); at != why.npos)
      why.erase(0, at + kAssertion.size());
    refuse(why);
  }
  model.mutable_graph()->Swap(converted.mutable_graph());
  for (auto& import : *model.mutable_opset_import())
    if (is_standard(import)) import.set_version(target);
}

}  // namespace poprt::onnx
