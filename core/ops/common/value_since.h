// Values of an attribute that were added in later opsets than the attribute itself.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "ir/graph.h"

namespace poprt::ops {

// Throws invalid_argument if the value is one of `later` and the opset is before `since`.
inline void check_value_since(const ir::Node& node, int64_t opset, std::string_view attribute,
                              std::string_view value, std::initializer_list<std::string_view> later,
                              int64_t since) {
  if (opset >= since || std::find(later.begin(), later.end(), value) == later.end()) return;
  fail(ErrorCode::invalid_argument,
       "{}: {} has no {} '{}' in opset {}; opset {} and later have it: convert the model",
       node.describe(), node.op_type, attribute, value, opset, since);
}

}  // namespace poprt::ops
