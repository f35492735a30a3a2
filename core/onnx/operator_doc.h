// ONNX's documentation of operators.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace poprt::onnx {

struct OperatorDoc {
  int since = 0;     // the first opset with this definition
  std::string text;  // paragraphs in Markdown, one line each
  struct Item {
    std::string name, text;
  };
  std::vector<Item> inputs, outputs, attributes;
};

// The definition for `opset`, or the newest one if `opset` is not positive. nullopt for operators
// that ONNX does not define at `opset`, such as all of com.microsoft.
std::optional<OperatorDoc> operator_doc(std::string_view domain, std::string_view name,
                                        int64_t opset);

}  // namespace poprt::onnx
