#include "ops/bound.h"
#include "ops/common/elementwise.h"

namespace poprt::ops::equal_op {
namespace {

// The result is known to be true if both inputs are the same known number, and false if their
// ranges do not overlap.
std::optional<SizeRange> size_range(BoundContext& ctx) {
  if (ctx.in[0].value->dtype() == DType::boolean) return std::nullopt;
  FoldingBuilder& build = ctx.build;
  const auto op = [&](const char* name, ir::Value* x, ir::Value* y) {
    return build.newest(name, {x, y});
  };
  ir::Value *a = least_of(ctx.in[0]), *a_most = ctx.in[0].value;
  ir::Value *b = least_of(ctx.in[1]), *b_most = ctx.in[1].value;
  ir::Value* same = op("And", op("Equal", a, b_most), op("Equal", a_most, b));
  ir::Value* apart = op("Or", op("Less", a_most, b), op("Less", b_most, a));
  return SizeRange{same, build.newest("Not", {apart})};
}

}  // namespace
}  // namespace poprt::ops::equal_op

POPRT_ELEMENTWISE_BOOL_OP(equal, "Equal", 1, any, .narrows = true, .text_form = TextForm::compares,
                          .text_inputs = 0b11, .elementwise = step<ElementwiseOp::equal>,
                          .size_range = size_range)
