#include "ops/common/signal.h"

namespace poprt::ops {

std::optional<int64_t> constant_integer(const ir::Node& node, size_t i) {
  const ir::Value* v = node.input(i);
  if (!v || !v->is_constant()) return std::nullopt;
  const auto values = v->constant().to_int64s();
  if (values.size() != 1)
    fail(ErrorCode::invalid_argument, "{}: input {} should be one number", node.describe(), i);
  return values[0];
}

}  // namespace poprt::ops
