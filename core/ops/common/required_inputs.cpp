#include "ops/common/required_inputs.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "ir/newest.h"

namespace poprt::ops {
namespace {

struct Row {
  std::string_view op;
  int64_t since;
  size_t needed;
  int64_t most;  // -1: any number
};

// Sorted by operator, then by opset.
constexpr Row kRows[] = {
#include "ops/common/required_inputs.inc"
};

// The last row of the operator whose opset is not above the node's; null if there is none.
const Row* row_of(const ir::Node& node) {
  if (!ir::is_onnx_domain(node.domain)) return nullptr;
  const auto [begin, end] =
      std::equal_range(std::begin(kRows), std::end(kRows), Row{node.op_type, 0, 0, 0},
                       [](const Row& a, const Row& b) { return a.op < b.op; });
  const Row* found = nullptr;
  for (auto row = begin; row != end && row->since <= node.opset(); row++) found = row;
  return found;
}

}  // namespace

void check_required_inputs(const ir::Node& node) {
  const Row* row = row_of(node);
  for (size_t i = 0; row && i < row->needed; i++)
    if (!node.input(i))
      fail(ErrorCode::invalid_argument, "{}: input {} is required and was not given",
           node.describe(), i);
}

void check_surplus_inputs(const ir::Node& node) {
  const Row* row = row_of(node);
  if (!row) return;
  const size_t count = node.inputs().size();
  if (row->most >= 0 && count > static_cast<size_t>(row->most))
    fail(ErrorCode::invalid_argument,
         "{}: the node has {} inputs, at most {} are expected in opset {}; convert the model with "
         "the opset for which it was made",
         node.describe(), count, row->most, node.opset());
  for (size_t i = 0; row->most < 0 && i < count; i++)
    if (!node.input(i))
      fail(ErrorCode::invalid_argument, "{}: input {} of a list is missing", node.describe(), i);
}

}  // namespace poprt::ops
