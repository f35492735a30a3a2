// past_cache, update, write_indices? to present_cache.
#include "ops/common/movement.h"

namespace poprt::ops {
namespace {

void lower(LowerContext& ctx) {
  const Shape &cache = ctx.in_shape(0), &update = ctx.in_shape(1);
  const auto axis = static_cast<size_t>(
      normalize_axis(ctx.node.int_attr("axis", -2), static_cast<int64_t>(cache.size())));
  Shape expected = cache;
  if (update.size() == cache.size()) expected[axis] = update[axis];
  if (axis == 0 || update != expected || update[axis] > cache[axis])
    ctx.fail_unsupported("update {} does not fit cache {} on axis {}", shape_string(update),
                         shape_string(cache), axis);
  const std::string mode = ctx.node.string_attr("mode", "linear");
  if (mode != "linear" && mode != "circular") ctx.fail_unsupported("mode '{}'", mode);
  ctx.emit("copy", {ctx.in(0), ctx.out(0)});
  ctx.emit("tensor_scatter", {ctx.in(1), ctx.has(2) ? ctx.in(2) : LowerContext::kNone, ctx.out(0)},
           {cache[0], partial_product(cache, 1, axis), cache[axis], update[axis],
            partial_product(cache, axis + 1, cache.size()) * element_bytes(ctx, ctx.in_dtype(0)),
            mode == "circular"});
}

}  // namespace

extern const OpDef tensor_scatter_op;
const OpDef tensor_scatter_op = {.name = "TensorScatter",
                                 .since = 24,
                                 .infer = [](InferContext& c) { c.out(0, c.in(0)); },
                                 .lower = lower};

}  // namespace poprt::ops
