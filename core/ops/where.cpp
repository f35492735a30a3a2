#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/elementwise.h"

namespace poprt::ops::where_op {
namespace {

void infer(InferContext& ctx) {
  const DType condition = ctx.in(0).dtype, x = ctx.in(1).dtype, y = ctx.in(2).dtype;
  if (condition != DType::undefined && condition != DType::boolean)
    ctx.fail_input("the condition is {}, expected bool", dtype_name(condition));
  if (x != DType::undefined && y != DType::undefined && x != y)
    ctx.fail_input("inputs are {} and {}; they must have one element type", dtype_name(x),
                   dtype_name(y));
  const DType dtype = x != DType::undefined ? x : y;
  if (!ctx.in(0).has_shape || !ctx.in(1).has_shape || !ctx.in(2).has_shape)
    return ctx.out_dtype(0, dtype);
  try {
    ctx.out(0, dtype,
            broadcast_shapes(broadcast_shapes(ctx.in(0).shape, ctx.in(1).shape), ctx.in(2).shape));
  } catch (const Error& e) {
    ctx.fail_input("{}", e.what());
  }
}

// The range of a minimum or maximum, which is tighter than the range of a choice.
std::optional<SizeRange> size_range(BoundContext& ctx) {
  const auto extremum = extremum_of(ctx.node);
  if (!extremum) return std::nullopt;
  const char* const op = *extremum == Extremum::least ? "Min" : "Max";
  return SizeRange{ctx.build.newest(op, {least_of(ctx.in[1]), least_of(ctx.in[2])}),
                   ctx.build.newest(op, {ctx.in[1].value, ctx.in[2].value})};
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Where",
                   .since = 9,
                   .infer = infer,
                   .lower = lower_elementwise,
                   .axes = axes::elementwise,
                   .sharing = {.in_place = 6},
                   .facts = {.per_element = true,
                             .narrows = true,
                             .source = ElementSource::chosen,
                             .text_form = TextForm::passes_on,
                             .text_inputs = 0b110,
                             .elementwise = step<ElementwiseOp::where>,
                             .monotone = Monotone::all,
                             .size_range = size_range,
                             .trial = {"bool[4,4]; T[4,4]; T[4,4]"}}};

}  // namespace poprt::ops::where_op
