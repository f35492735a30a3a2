// poprt.Elementwise: a fused chain of elementwise float operators
// (ops/common/elementwise_program.h). Attributes: program, constants, dtypes. Every output has the
// broadcast shape of all inputs.
#include "ops/common/elementwise.h"
#include "ops/common/axes.h"

namespace poprt::ops::poprt_elementwise_op {
namespace {

void infer(InferContext& ctx) {
  const ElementwiseProgram p = ElementwiseProgram::from_node(ctx.node);
  if (ctx.input_count() != static_cast<size_t>(p.inputs) ||
      ctx.node.outputs().size() != p.outputs.size())
    ctx.fail_input("the node has {} inputs and {} outputs, its program {} and {}",
                   ctx.input_count(), ctx.node.outputs().size(), p.inputs, p.outputs.size());
  Shape shape;
  bool known = true;
  for (size_t i = 0; i < ctx.input_count(); i++) {
    const ir::ValueType& t = ctx.in(i);
    known = known && t.has_shape;
    if (known) shape = broadcast_shapes(shape, t.shape);
  }
  for (size_t o = 0; o < p.outputs.size(); o++) {
    if (known)
      ctx.out(o, p.dtypes[o], shape);
    else
      ctx.out_dtype(o, p.dtypes[o]);
  }
}

void lower(LowerContext& ctx) {
  const ElementwiseProgram p = ElementwiseProgram::from_node(ctx.node);
  std::vector<LowerContext::BufferId> buffers;
  for (size_t i = 0; i < ctx.node.inputs().size(); i++) buffers.push_back(ctx.in(i));
  for (size_t o = 0; o < p.outputs.size(); o++) {
    const auto out = ctx.out(o);
    buffers.push_back(
        out != LowerContext::kNone ? out : ctx.temporary(ctx.out_dtype(o), ctx.out_shape(o)));
  }
  ctx.emit(p.call(), buffers);
}

}  // namespace

extern const OpDef def;
const OpDef def = {
    .name = "Elementwise",
    .domain = "poprt",
    .infer = infer,
    .lower = lower,
    .axes = axes::elementwise,
    .sharing = {.in_place = 0xffff},
    .facts = {
        .per_element = true,
        .trial = {"T[4,4]",
                  "program = [1, 1, 1, 2, 0, 0, 0, 16], constants = floats [], dtypes = [1]"}}};

}  // namespace poprt::ops::poprt_elementwise_op
