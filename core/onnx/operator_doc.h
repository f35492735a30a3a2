// What ONNX says an operator does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace poprt::onnx {

struct OperatorDoc {
  int since = 0;     // the first opset with this definition
  std::string text;  // paragraphs, one line each; in Markdown
  struct Item {
    std::string name, text;
  };
  std::vector<Item> inputs, outputs, attributes;
};

// The definition of `opset`, or of the newest when `opset` is not positive. Empty for operators
// that ONNX does not define, such as those of com.microsoft.
std::optional<OperatorDoc> operator_doc(std::string_view domain, std::string_view name,
                                        int64_t opset);

}  // namespace poprt::onnx
