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
  size_t inputs;
};

// Sorted by operator, then opset.
constexpr Row kRows[] = {
#include "ops/common/required_inputs.inc"
};

}  // namespace

void check_required_inputs(const ir::Node& node) {
  if (!node.domain.empty() && node.domain != "ai.onnx" && node.domain != ir::kNewestDomain) return;
  const auto [begin, end] =
      std::equal_range(std::begin(kRows), std::end(kRows), Row{node.op_type, 0, 0},
                       [](const Row& a, const Row& b) { return a.op < b.op; });
  size_t needed = 0;
  for (auto row = begin; row != end && row->since <= node.opset(); row++) needed = row->inputs;
  for (size_t i = 0; i < needed; i++)
    if (!node.input(i))
      fail(ErrorCode::invalid_argument, "{}: input {} is required and was not given",
           node.describe(), i);
}

}  // namespace poprt::ops
