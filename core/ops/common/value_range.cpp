#include "ops/common/value_range.h"

#include "base/error.h"

namespace poprt::ops {
namespace {

void check(const ir::Node& node, size_t input, int64_t end, std::string_view what, char bracket) {
  const ir::Value* v = node.input(input);
  if (!v || !v->is_constant() || end < 0) return;
  for (const int64_t at : v->constant().to_int64s())
    if (at < 0 || at >= end)
      fail(ErrorCode::invalid_argument, "{}: {} {} is outside [0, {}{}", node.describe(), what, at,
           bracket == ']' ? end - 1 : end, bracket);
}

}  // namespace

void check_places(const ir::Node& node, size_t input, int64_t size, std::string_view what) {
  check(node, input, size, what, ')');
}

void check_lengths(const ir::Node& node, size_t input, int64_t most, std::string_view what) {
  check(node, input, most < 0 ? most : most + 1, what, ']');
}

}  // namespace poprt::ops
