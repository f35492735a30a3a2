#include "ir/match.h"
#include "ops/common/elementwise.h"

namespace poprt::ops::clip_op {
namespace {

// Before opset 11 the bounds are attributes.
ElementwiseValue append(ElementwiseProgram& p, const ir::Node& n,
                        std::span<const ElementwiseValue> in) {
  const bool inputs = n.opset() >= 11;
  const auto given = [&](size_t i, const char* key) {
    return inputs ? n.input(i) != nullptr : n.find_attr(key) != nullptr;
  };
  const auto bound = [&](size_t i, const char* key) {
    return inputs ? in[i] : p.constant(n.float_attr(key, 0));
  };
  const bool low = given(1, "min"), high = given(2, "max");
  if (low && high) {
    const ElementwiseValue least = bound(1, "min");
    return p.step(ElementwiseOp::clip, in[0], least, bound(2, "max"));
  }
  if (low) return p.step(ElementwiseOp::max, in[0], bound(1, "min"));
  return high ? p.step(ElementwiseOp::min, in[0], bound(2, "max"))
              : p.step(ElementwiseOp::copy, in[0]);
}

void infer(InferContext& ctx) {
  for (size_t i = 1; i <= 2; i++) {
    if (!ctx.has(i)) continue;
    const ir::ValueType& bound = ctx.in(i);
    if (bound.has_shape && is_static(bound.shape) && element_count(bound.shape) != 1)
      ctx.fail_input("{} '{}' is {}; expected one number", i == 1 ? "min" : "max",
                     ctx.node.input(i)->name(), ir::type_string(bound));
  }
  infer_elementwise(ctx, ElementwiseTypes::numeric, false);
}

std::optional<Epilogue> epilogue(const ir::Node& n) {
  float low = n.float_attr("min", std::numeric_limits<float>::lowest());
  float high = n.float_attr("max", std::numeric_limits<float>::max());
  for (size_t i = 1; i <= 2; i++) {
    if (!n.input(i)) continue;
    const auto bound = ir::const_scalar(n.input(i));
    if (!bound) return std::nullopt;
    (i == 1 ? low : high) = static_cast<float>(*bound);
  }
  if (low == 0 && high == std::numeric_limits<float>::max()) return Epilogue{Activation::relu};
  return Epilogue{Activation::clip, low, high};
}

}  // namespace
}  // namespace poprt::ops::clip_op

POPRT_ELEMENTWISE_DEF(clip, .name = "Clip", .since = 1, .infer = infer, .lower = lower_elementwise,
                      .axes = axes::elementwise, .sharing = {.in_place = 3},
                      .facts = {.per_element = true,
                                .narrows = true,
                                .blocked = BlockedForm::unary,
                                .elementwise = {append, 1, 3},
                                .epilogue = epilogue,
                                .monotone = Monotone::all,
                                .trial = {"T[4,4]; T[]; T[]"}})
