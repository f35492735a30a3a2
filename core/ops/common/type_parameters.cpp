#include "ops/common/type_parameters.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace poprt::ops {
namespace {

struct TypeRow {
  std::string_view domain, op;
  int64_t since;
  std::string_view inputs;
};

// Sorted by domain, operator, opset.
constexpr TypeRow kTypeRows[] = {
#include "ops/common/type_parameters.inc"
};

// One letter for each input of the node's definition; the last letter of a list is repeated.
std::string_view parameters_of(const ir::Node& node) {
  const std::string_view domain = node.domain == "ai.onnx" ? "" : std::string_view(node.domain);
  const auto before = [](const TypeRow& a, const TypeRow& b) {
    return std::pair(a.domain, a.op) < std::pair(b.domain, b.op);
  };
  const auto [begin, end] = std::equal_range(std::begin(kTypeRows), std::end(kTypeRows),
                                             TypeRow{domain, node.op_type, 0, ""}, before);
  std::string_view inputs;
  for (auto row = begin; row != end && row->since <= node.opset(); row++) inputs = row->inputs;
  return inputs;
}

}  // namespace

void check_type_parameters(const ir::Node& node) {
  std::string_view letters = parameters_of(node);
  const bool list = letters.ends_with('+');
  if (list) letters.remove_suffix(1);
  std::array<const ir::Value*, 26> first = {};
  for (size_t i = 0; i < node.inputs().size(); i++) {
    if (i >= letters.size() && !list) return;
    const char letter = letters[std::min(i, letters.size() - 1)];
    const ir::Value* v = node.input(i);
    if (letter == '-' || !v || v->dtype() == DType::undefined) continue;
    const ir::Value*& other = first[static_cast<size_t>(letter - 'a')];
    if (!other) other = v;
    if (other->dtype() != v->dtype())
      fail(ErrorCode::invalid_argument,
           "{}: input '{}' is {} and '{}' is {}; {} takes both of one "
           "type",
           node.describe(), other->name(), dtype_name(other->dtype()), v->name(),
           dtype_name(v->dtype()), node.op_type);
  }
}

}  // namespace poprt::ops
