#include "onnx/operator_doc.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <climits>

namespace poprt::onnx {
namespace {

// Joins the lines of a paragraph and removes their indentation. Indented lines (code, lists) stay
// separate.
std::string joined(std::string_view text) {
  std::string out;
  bool apart = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == line.npos) {
      apart = true;
      continue;
    }
    line = line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
    const bool own = apart || begin >= 2 || line[0] == '*' || line[0] == '-' || line[0] == '`';
    if (!out.empty()) out += own ? "\n" : " ";
    out += line;
    apart = false;
  }
  return out;
}

}  // namespace

std::optional<OperatorDoc> operator_doc(std::string_view domain, std::string_view name,
                                        int64_t opset) {
  const std::string in = domain == "ai.onnx" ? "" : std::string(domain);
  const int version = opset > 0 ? static_cast<int>(std::min<int64_t>(opset, INT_MAX)) : INT_MAX;
  const auto* schema = ::onnx::OpSchemaRegistry::Schema(std::string(name), version, in);
  if (!schema) return std::nullopt;
  OperatorDoc doc;
  doc.since = schema->SinceVersion();
  if (const char* text = schema->doc()) doc.text = joined(text);
  for (const auto& p : schema->inputs())
    doc.inputs.push_back({p.GetName(), joined(p.GetDescription())});
  for (const auto& p : schema->outputs())
    doc.outputs.push_back({p.GetName(), joined(p.GetDescription())});
  for (const auto& [key, attribute] : schema->attributes())
    doc.attributes.push_back({key, joined(attribute.description)});
  return doc;
}

}  // namespace poprt::onnx
