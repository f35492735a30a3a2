#include "base/checked.h"
#include "ops/common/movement.h"

namespace poprt::ops::concat_op {
namespace {

int64_t axis_attr(const ir::Node& node) {
  // Opset 1 has a default of 1; later the attribute is required.
  return node.int_attr("axis", 1);
}

void infer(InferContext& ctx) {
  if (ctx.opset() >= 4 && !ctx.node.find_attr("axis"))
    ctx.fail_input("attribute 'axis' is missing");
  const DType dtype = ctx.in(0).dtype;
  Shape out;
  bool known = true;
  size_t axis = 0;
  for (size_t i = 0; i < ctx.input_count(); i++) {
    const ir::ValueType& in = ctx.in(i);
    if (in.dtype != dtype && in.dtype != DType::undefined && dtype != DType::undefined)
      ctx.fail_input("input {} is {}, input 0 is {}", i, dtype_name(in.dtype), dtype_name(dtype));
    known &= in.has_shape;
    if (!known) continue;
    if (i == 0) {
      out = in.shape;
      axis =
          static_cast<size_t>(axis_of(ctx, axis_attr(ctx.node), static_cast<int64_t>(out.size())));
      continue;
    }
    if (in.shape.size() != out.size())
      ctx.fail_input("input {} has rank {}, input 0 has rank {}", i, in.shape.size(), out.size());
    for (size_t d = 0; d < out.size(); d++) {
      if (d == axis) {
        out[d] =
            out[d] < 0 || in.shape[d] < 0 ? kUnknownDim : checked_add(out[d], in.shape[d], "shape");
      } else if (out[d] < 0) {
        out[d] = in.shape[d];
      } else if (in.shape[d] >= 0 && in.shape[d] != out[d]) {
        ctx.fail_input("input {} is {}: dimension {} should be {}", i, shape_string(in.shape), d,
                       out[d]);
      }
    }
  }
  if (!known) return ctx.out_dtype(0, dtype);
  ctx.out(0, dtype, std::move(out));
}

void lower(LowerContext& ctx) {
  const Shape& out = ctx.out_shape();
  const auto axis =
      static_cast<size_t>(normalize_axis(axis_attr(ctx.node), static_cast<int64_t>(out.size())));
  const auto strides = contiguous_strides(out);
  int64_t offset = 0;
  for (size_t i = 0; i < ctx.node.inputs().size(); i++) {
    const Shape& in = ctx.in_shape(i);
    StridedCopy copy{in, contiguous_strides(in), strides, 0, offset};
    offset += in[axis] * strides[axis];
    if (element_count(in) == 0) continue;
    emit_strided_copy(ctx, ctx.in(i), ctx.out(0), ctx.in_dtype(i), copy);
  }
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Concat",
                   .infer = infer,
                   .lower = lower,
                   .sharing = {.joins = true},
                   .facts = {.moves = true,
                             .narrows = true,
                             .source = ElementSource::joined,
                             .text_form = TextForm::hands_on,
                             .text_inputs = kEveryInput,
                             .monotone = Monotone::all,
                             .size_rule = SizeRule::concat,
                             .trial = {"T[4,4]; T[4,4]", "axis = 0"}}};

}  // namespace poprt::ops::concat_op
