#include "kernels/calls/copy.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/op.h"

namespace poprt::ops::constant_op {
namespace {

Tensor value_of(const ir::Node& node) {
  const auto list = [](const auto& v) { return Shape{static_cast<int64_t>(v.size())}; };
  if (const auto* a = node.find_attr("value"))
    if (const auto* t = std::get_if<Tensor>(a)) return *t;
  if (node.find_attr("value_float"))
    return Tensor::scalar<float>(node.float_attr("value_float", 0));
  if (node.find_attr("value_int")) return Tensor::scalar<int64_t>(node.int_attr("value_int", 0));
  if (node.find_attr("value_floats")) {
    const auto v = node.floats_attr("value_floats");
    return Tensor::of<float>(list(v), std::span<const float>(v));
  }
  if (node.find_attr("value_ints")) {
    const auto v = node.ints_attr("value_ints");
    return Tensor::of<int64_t>(list(v), std::span<const int64_t>(v));
  }
  if (node.find_attr("value_string"))
    return Tensor::strings({}, {node.string_attr("value_string", "")});
  if (const auto* a = node.find_attr("value_strings"))
    if (const auto* v = std::get_if<std::vector<std::string>>(a))
      return Tensor::strings(list(*v), *v);
  fail(ErrorCode::unimplemented,
       "{}: expected value, value_int(s), value_float(s) or value_string(s)", node.describe());
}

void infer(InferContext& ctx) {
  const Tensor t = value_of(ctx.node);
  ctx.out(0, t.dtype(), t.shape());
}

void lower(LowerContext& ctx) {
  const Tensor t = value_of(ctx.node);
  if (t.dtype() == DType::string) ctx.fail_unsupported("strings exist only before compilation");
  ctx.emit(calls::Copy{}, {ctx.pack(t), ctx.out(0)});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Constant",
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::by_place,
                   .cost = cost::none,
                   .facts = {.moves = true, .narrows = true, .trial = {"", "value = T[4] fill @"}}};

}  // namespace poprt::ops::constant_op
