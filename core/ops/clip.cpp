#include "ir/match.h"
#include "ops/common/elementwise.h"

namespace poprt::ops::clip_op {
namespace {

// The largest number of the types that are computed in f32. A bound that is absent is this number,
// so that infinity is clipped as in ONNX Runtime. Integers need no such bound, and infinities of
// f64 stay.
std::optional<float> limit_of(DType type) {
  if (type == DType::f16) return 65504.0f;
  if (type == DType::bf16) return 0x1.fep127f;
  if (type == DType::f32) return std::numeric_limits<float>::max();
  return std::nullopt;
}

// Before opset 11 the bounds are attributes.
ElementwiseValue append(ElementwiseProgram& p, const ir::Node& n,
                        std::span<const ElementwiseValue> in) {
  const bool inputs = n.opset() >= 11;
  const auto limit = n.input(0) ? limit_of(n.input(0)->dtype()) : std::nullopt;
  const auto bound = [&](size_t i, const char* key, float sign) -> std::optional<ElementwiseValue> {
    if (inputs && n.input(i)) return in[i];
    if (!inputs && n.find_attr(key)) return p.constant(n.float_attr(key, 0));
    return limit ? std::optional(p.constant(sign * *limit)) : std::nullopt;
  };
  const auto low = bound(1, "min", -1), high = bound(2, "max", 1);
  if (low && high) return p.step(ElementwiseOp::clip, in[0], *low, *high);
  if (low) return p.step(ElementwiseOp::max, in[0], *low);
  return high ? p.step(ElementwiseOp::min, in[0], *high) : p.step(ElementwiseOp::copy, in[0]);
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

// The nodes that passes fuse are f32, so an absent bound is the least or the greatest f32. If 0 is
// the only bound, the activation is Relu, which does not change infinity.
std::optional<Epilogue> epilogue(const ir::Node& n) {
  const bool inputs = n.opset() >= 11;
  float low = std::numeric_limits<float>::lowest(), high = std::numeric_limits<float>::max();
  if (!inputs) {
    low = n.float_attr("min", low);
    high = n.float_attr("max", high);
  }
  for (size_t i = 1; i <= 2 && inputs; i++) {
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
