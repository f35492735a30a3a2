#include "base/onnx_dtype.h"
#include "ops/bound.h"
#include "ops/common/elementwise.h"

namespace poprt::ops::mod_op {
namespace {

// Before opset 28, ONNX defines the modulo of floats with fmod=1 only.
void infer(InferContext& c) {
  if (is_float(c.in(0).dtype) && c.node.int_attr("fmod", 0) == 0 && c.opset() < 28)
    c.fail_input("operands of type {} need fmod=1 before opset 28", dtype_name(c.in(0).dtype));
  infer_elementwise(c, ElementwiseTypes::numeric, false);
}

ElementwiseValue append(ElementwiseProgram& p, const ir::Node& n,
                        std::span<const ElementwiseValue> in) {
  return p.step(n.int_attr("fmod", 0) ? ElementwiseOp::fmod : ElementwiseOp::mod, in[0], in[1]);
}

// If neither operand is negative, the result is less than the divisor and not more than the
// dividend.
std::optional<SizeRange> size_range(BoundContext& ctx) {
  const Items& in = ctx.in;
  if (is_float(in[0].value->dtype()) || any_below(in[1].value, 1) || any_below(least_of(in[1]), 0))
    return std::nullopt;
  // Without fmod, the result has the sign of the divisor, independent of the dividend.
  const bool negative = any_below(least_of(in[0]), 0);
  if (negative && (ctx.node.int_attr("fmod", 0) != 0 || any_below(least_of(in[1]), 1)))
    return std::nullopt;
  ir::Value* one = ctx.build.newest("Cast", {ctx.build.integer(1)},
                                    {{"to", onnx_from_dtype(in[0].value->dtype()).value()}});
  ir::Value* most = ctx.build.newest("Sub", {in[1].value, one});
  if (!negative) most = ctx.build.newest("Min", {in[0].value, most});
  return SizeRange{ctx.build.newest("Sub", {most, most}), most};
}

}  // namespace
}  // namespace poprt::ops::mod_op

POPRT_ELEMENTWISE_DEF(mod, .name = "Mod", .since = 10, .infer = infer, .lower = lower_elementwise,
                      .axes = axes::elementwise, .sharing = {.in_place = 3},
                      .facts = {.per_element = true,
                                .narrows = true,
                                .elementwise = {append, 2, 2},
                                .size_range = size_range,
                                .trial = {"T[4,4]; T[4,4]", "| fmod = 1"}})
