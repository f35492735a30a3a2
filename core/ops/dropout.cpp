// The data passes through unchanged, and the mask, if it is used, is true everywhere. With
// training_mode (opset 12) elements are dropped at random and the others are scaled by 1 / (1 -
// ratio).
#include <array>
#include <cstring>

#include "kernels/calls/cast.h"
#include "kernels/calls/copy.h"
#include "kernels/calls/random.h"
#include "ops/common/as_real.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/elementwise.h"
#include "ops/common/flops.h"
#include "ops/common/random.h"

namespace poprt::ops::dropout_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& t = ctx.in(0);
  if (ctx.opset() >= 12 && ctx.has(2)) {
    const auto training = ctx.ints(2);
    if (!training) ctx.fail_unsupported("training_mode must be a constant");
    if (training->size() != 1) ctx.fail_input("training_mode should be one value");
    if (ctx.has(1) && ctx.in(1).is_static() && element_count(ctx.in(1).shape) != 1)
      ctx.fail_input("ratio is {}, expected one number", shape_string(ctx.in(1).shape));
  }
  ctx.out(0, t);
  ir::ValueType mask = t;
  if (ctx.opset() >= 10) mask.dtype = DType::boolean;
  if (ctx.node.output(1)) ctx.out(1, mask);
}

bool is_training(const ir::Node& node) {
  return node.opset() >= 12 && node.input(2) && node.input(2)->constant().to_int64s().at(0) != 0;
}

void lower_training(LowerContext& ctx) {
  const DType t = real_type(ctx);
  const Shape& shape = ctx.in_shape(0);
  const auto random = ctx.temporary(DType::f32, shape);
  ctx.emit(calls::Random{.kind = RandomKind::uniform,
                         .seed = seed_of(ctx.node),
                         .count = element_count(shape),
                         .classes = 0,
                         .samples = 1,
                         .a = 0,
                         .b = 1,
                         .varies = varies(ctx.node)},
           {LowerContext::kNone, random});
  const auto y = out_as(ctx, 0, t);
  const auto mask = ctx.node.output(1) ? ctx.out(1) : LowerContext::kNone;
  ElementwiseProgram p;
  std::vector<LowerContext::BufferId> buffers = {in_as(ctx, 0, t), random};
  const auto x = p.add_input(), u = p.add_input();
  auto ratio = p.constant(0.5f);
  if (ctx.has(1)) {
    ratio = p.add_input();
    buffers.push_back(ctx.view(in_as(ctx, 1, t), 0, t, {}));
  }
  if (t == DType::f64) {
    buffers[1] = ctx.temporary(t, shape);
    ctx.emit(calls::Cast{}, {random, buffers[1]});
  }
  const auto keep = p.step(ElementwiseOp::greater_equal, u, ratio);
  if (mask != LowerContext::kNone) {
    p.add_output(keep, DType::boolean);
    buffers.push_back(mask);
  }
  if (y != LowerContext::kNone) {
    const auto grown =
        p.step(ElementwiseOp::div, x, p.step(ElementwiseOp::sub, p.constant(1), ratio));
    p.add_output(p.step(ElementwiseOp::where, keep, grown, p.constant(0)), t);
    buffers.push_back(y);
  }
  if (p.outputs.empty()) return;
  emit_program(ctx, p, buffers, t);
  finish_as(ctx, 0, y, t);
}

void lower(LowerContext& ctx) {
  if (is_training(ctx.node)) return lower_training(ctx);
  if (ctx.out(0) != LowerContext::kNone) ctx.emit(calls::Copy{}, {ctx.in(0), ctx.out(0)});
  if (ctx.node.output(1) && ctx.out(1) != LowerContext::kNone) {
    const Shape& shape = ctx.out_shape(1);
    const DType type = ctx.out_dtype(1);
    const auto ones =
        ctx.pack(DType::boolean, shape,
                 {{}, [](program::WeightForm::Sources, program::WeightForm::Bytes to) {
                    std::memset(to.data(), 1, to.size());
                  }});
    if (type == DType::boolean)
      ctx.emit(calls::Copy{}, {ones, ctx.out(1)});
    else
      ctx.emit(calls::Cast{}, {ones, ctx.out(1)});
  }
}

// The mask is either random or true everywhere, so it does not depend on the data.
void map_axes(AxesContext& ctx) {
  axes::same(ctx, 0, 0);
  for (size_t o = 1; o < ctx.output_count(); o++) ctx.independent(0, o);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Dropout",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::none,
                   .sharing = {.in_place = 1},
                   .pure = false,
                   .facts = {.per_element = true,
                             .elementwise = {append_step<ElementwiseOp::copy>, 1, 3},
                             .flops = flops::none,
                             .trial = {"T[4,4]"}}};

}  // namespace poprt::ops::dropout_op
