#include "ops/common/loss.h"

#include "ops/common/as_real.h"
#include "ops/common/movement.h"

namespace poprt::ops {

void infer_loss(InferContext& ctx) {
  const ir::ValueType &x = ctx.in(0), &target = ctx.in(1);
  check_index_dtype(ctx, 1);
  const std::string reduction = ctx.node.string_attr("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    ctx.fail_input("reduction '{}' is none of none, sum, mean", reduction);
  if (x.has_shape && x.shape.size() < 2)
    ctx.fail_input("input {} must have at least two dimensions", shape_string(x.shape));
  if (reduction != "none")
    ctx.out(0, x.dtype, {});
  else
    ctx.out(0, ir::ValueType{x.dtype, target.has_shape, target.shape, target.symbols});
  ctx.out(1, x);
}

void lower_loss(LowerContext& ctx, program::BufferId x) {
  const Shape& shape = ctx.in_shape(0);
  const int64_t rest = partial_product(shape, 2, shape.size());
  if (element_count(ctx.in_shape(1)) != shape[0] * rest)
    ctx.fail_unsupported("labels {} do not fit {}", shape_string(ctx.in_shape(1)),
                         shape_string(shape));
  const std::string reduction = ctx.node.string_attr("reduction", "mean");
  const DType t = real_type(ctx);
  const auto y = out_as(ctx, 0, t);
  if (y == LowerContext::kNone) return;
  ctx.emit("nll_loss", {x, ctx.in(1), in_as(ctx, 2, t), y},
           {shape[0], shape[1], rest,
            reduction == "none"  ? 0
            : reduction == "sum" ? 1
                                 : 2,
            ctx.node.find_attr("ignore_index") != nullptr, ctx.node.int_attr("ignore_index", 0)});
  finish_as(ctx, 0, y, t);
}

}  // namespace poprt::ops
